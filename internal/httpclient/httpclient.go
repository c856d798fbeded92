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
	largestHeader  = 256 << 10 // maximum size of a header in bytes
)

// Options are the settings that differ between clients.
type Options struct {
	Timeout            time.Duration  // limit for a request including its body; 0: only the context limits it
	Proxy              *url.URL       // address of the proxy; nil: none
	Authorities        *x509.CertPool // certificate authorities; nil: those of the system
	InsecureSkipVerify bool
	Certificates       []tls.Certificate // client certificates for servers that request one; nil: none
	Socket             string            // path of a Unix socket for every request; "": none
	Redirects          int               // maximum number of consecutive redirects; 0: return the redirect itself
}

// New makes a client. It verifies certificates unless InsecureSkipVerify is set.
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

// Trusted reports whether data from an address is safe from changes on the way: the address uses https or is on this
// machine.
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
