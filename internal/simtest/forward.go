package simtest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
)

// Forward returns a handler that passes requests on to a server, and each piece of an answer back at once.
//
// It reads the whole body of a request first. A ReverseProxy that still reads the body when the answer begins cuts some
// answers off (9 of 480), also those to Go's own client.
func Forward(t testing.TB, to string) http.Handler {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { // the client has left, too
		w.WriteHeader(http.StatusBadGateway)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the client has left
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
}
