package httpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	connectTimeout = 30 * time.Second
	idleTimeout    = 30 * time.Second
	largestHeader  = 256 << 10 // bytes
)

// Options are the settings that differ between clients.
type Options struct {
	Timeout            time.Duration  // of a request with its body; 0: the context's
	Proxy              *url.URL       // nil: none
	Authorities        *x509.CertPool // nil: the system's
	InsecureSkipVerify bool
	Certificates       []tls.Certificate // shown to servers that ask for one; nil: none
	Socket             string            // Unix socket that every request goes to; "": none
	Redirects          int               // most redirects in a row; 0: follow none and return the redirect itself
}

// New makes a client. It verifies certificates unless told otherwise.
func New(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout}
	t := &http.Transport{
		DialContext: dialer.DialContext,
		TLSClientConfig: &tls.Config{RootCAs: o.Authorities, InsecureSkipVerify: o.InsecureSkipVerify,
			Certificates: o.Certificates},
		TLSHandshakeTimeout:    connectTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: largestHeader,
		ForceAttemptHTTP2:      true,
	}
	switch {
	case o.Socket != "":
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", o.Socket)
		}
	case o.Proxy != nil:
		t.Proxy = http.ProxyURL(o.Proxy)
	}
	return &http.Client{Transport: t, Timeout: o.Timeout, CheckRedirect: o.redirect}
}

// redirect accepts or rejects a redirect before the client follows it.
func (o *Options) redirect(next *http.Request, before []*http.Request) error {
	switch {
	case o.Redirects == 0:
		return http.ErrUseLastResponse
	case len(before) > o.Redirects:
		return fmt.Errorf("it redirects more than %d times", o.Redirects)
	case !Trusted(next.URL):
		return errors.New("it redirects to an address that is not https")
	case next.URL.Host != before[0].URL.Host:
		next.Header.Del("Authorization")
		next.Header.Del("Cookie")
	}
	return nil
}

// Trusted reports whether no one in between can change what an address sends: it is https, or on this machine.
func Trusted(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && ip != nil && ip.IsLoopback()
}

// ReadBody reads a whole body of at most most bytes. A longer one is an error.
func ReadBody(response *http.Response, most int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err == nil && int64(len(body)) > most {
		return nil, fmt.Errorf("it has more than %d bytes", most)
	}
	return body, err
}
