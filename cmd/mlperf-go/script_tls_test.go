package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveTLS starts a server with TLS, whose certificate for example.com, its subdomains and 127.0.0.1 is in NAME.pem.
func serveTLS(ts *testscript.TestScript, name string, s *httptest.Server) {
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that a script lets fail
	s.StartTLS()
	ts.Defer(s.Close)
	ts.Setenv(name, s.URL)
	writePEM(ts, name+".pem", "CERTIFICATE", s.Certificate().Raw)
}

func writePEM(ts *testscript.TestScript, name, kind string, der []byte) {
	ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// serveCertified starts a gateway with TLS before a server: serve NAME certified URL. Its clients must have the
// certificate NAME-client.pem with the key NAME-client.key.
func serveCertified(ts *testscript.TestScript, args []string) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forward(w, at(r, args[2]))
	}))
	var known []byte
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert,
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if !bytes.Equal(raw[0], known) {
				return errors.New("another client's certificate")
			}
			return nil
		}}
	serveTLS(ts, args[0], s)
	own := s.TLS.Certificates[0]
	known = own.Certificate[0]
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	ts.Check(err)
	writePEM(ts, args[0]+"-client.pem", "CERTIFICATE", known)
	writePEM(ts, args[0]+"-client.key", "PRIVATE KEY", key)
}

// serveTunnels starts a proxy that connects each tunnel to one server, whatever host the client asks for: serve NAME
// tunnels URL, or serve NAME secure-tunnels URL, whose clients connect with TLS.
func serveTunnels(ts *testscript.TestScript, args []string) {
	_, server, _ := strings.Cut(args[2], "://")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only tunnels", http.StatusMethodNotAllowed)
			return
		}
		there, err := net.Dial("tcp", server)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		here, in, err := w.(http.Hijacker).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		go carry(there, in, here)
		go carry(here, there, there)
	}))
	if args[1] == "secure-tunnels" {
		serveTLS(ts, args[0], s)
		return
	}
	s.Start()
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// carry copies one direction of a tunnel, and ends both when it ends.
func carry(to io.WriteCloser, from io.Reader, other io.Closer) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = other.Close()
}
