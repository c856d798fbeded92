package policy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// IsTLS reports whether an error is a failure of TLS.
func IsTLS(err error) bool {
	var (
		record      tls.RecordHeaderError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		host        x509.HostnameError
		invalid     x509.CertificateInvalidError
		alert       tls.AlertError
	)
	if errors.As(err, &record) || errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &host) ||
		errors.As(err, &invalid) || errors.As(err, &alert) {
		return true
	}
	text := err.Error()
	return slices.ContainsFunc([]string{"tls: ", "TLS handshake", "server gave HTTP response to HTTPS client", "x509: "},
		func(part string) bool { return strings.Contains(text, part) })
}

// ProxyTLSError is a failure of TLS between the client and an https proxy, not between the client and an endpoint.
type ProxyTLSError struct {
	Proxy *url.URL
	Err   error
}

// OfProxy returns an error of a connection to a proxy as a *ProxyTLSError if it is a failure of TLS, and otherwise err.
func OfProxy(proxy *url.URL, err error) error {
	if err == nil || proxy == nil || proxy.Scheme != "https" || !IsTLS(err) {
		return err
	}
	return &ProxyTLSError{proxy, err}
}

// Error names the proxy.
func (e *ProxyTLSError) Error() string {
	return fmt.Sprintf("TLS with the proxy %s: %v", e.Proxy, e.Err)
}

func (e *ProxyTLSError) Unwrap() error { return e.Err }

// Remedy returns what to do about it, as a sentence without a full stop.
func (e *ProxyTLSError) Remedy() string {
	var record tls.RecordHeaderError
	switch {
	case errors.As(e.Err, &record):
		return "The proxy does not seem to use TLS on this port: write --proxy http://" + e.Proxy.Host
	case alerted(e.Err):
		return "Check that the proxy uses TLS 1.2 or 1.3 and requires no certificate of its clients: that of " +
			"--client-cert is for the endpoints only"
	case expired(e.Err):
		return "Renew the proxy's certificate, or set the clock of this machine"
	case wrongHost(e.Err):
		return "Use a host name that the proxy's certificate contains in --proxy"
	}
	return "Check that the proxy uses TLS on this port (otherwise write --proxy http://" + e.Proxy.Host +
		") and that this machine trusts its certificate. Pass a private or self-signed certificate with --ca-file; " +
		"--insecure-skip-verify skips the check"
}

// EndpointTLSRemedy returns what to do about a failure of TLS between the client and an endpoint.
func EndpointTLSRemedy(err error) string {
	switch {
	case alerted(err):
		return "Check that the server uses TLS 1.2 or 1.3. If it requires a certificate of its clients, pass --client-cert"
	case expired(err):
		return "Renew the server's certificate, or set the clock of this machine"
	case wrongHost(err):
		return "Use a host name that the certificate contains, or give the server a certificate for this one"
	}
	return "Check that the server uses TLS on this port and that this machine trusts its certificate. Pass a private or " +
		"self-signed certificate with --ca-file; --insecure-skip-verify skips the check"
}

// alerted reports whether the peer ended TLS with an alert.
func alerted(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

func expired(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

func wrongHost(err error) bool {
	var host x509.HostnameError
	return errors.As(err, &host)
}
