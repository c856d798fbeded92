package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdServe starts a server that is no inference server and puts its URL into a variable: serve NAME html|redirect|closed
func cmdServe(ts *testscript.TestScript, _ bool, args []string) {
	handlers := map[string]http.HandlerFunc{
		"html": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<!DOCTYPE html><html><body>Welcome, please sign in</body></html>") // a client that left does not matter
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://login.example/"+r.URL.Path, http.StatusFound)
		},
	}
	if args[1] == "closed" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Setenv(args[0], "http://"+l.Addr().String())
		ts.Check(l.Close())
		return
	}
	s := httptest.NewServer(handlers[args[1]])
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}
