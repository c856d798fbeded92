package backends

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS returns the settings of TLS connections to the endpoints. It reads the files of t.
func (t *Transport) TLS() (*tls.Config, error) {
	authorities, err := Authorities(t.CAFile)
	if err != nil {
		return nil, err
	}
	certificates, err := ClientCertificates(t.ClientCert, t.ClientKey)
	if err != nil {
		return nil, err
	}
	return &tls.Config{InsecureSkipVerify: t.InsecureSkipVerify, RootCAs: authorities, Certificates: certificates,
		CurvePreferences: exchanges}, nil
}

// exchanges are the key exchanges of the test's connections, which are those of OpenSSL 3.0. crypto/tls would also make
// a post-quantum key for each handshake, resumed ones included, and that costs the client a fifth of their time
// (docs/reference/measurements.md#tls-handshakes).
var exchanges = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}

// ClientCertificates returns the certificate by which a client proves to a server who it is, with its private key, from
// two PEM files. An empty key file means that the certificate's file contains the key too. Without files it returns
// nil. No error contains a part of a key.
func ClientCertificates(certFile, keyFile string) ([]tls.Certificate, error) {
	switch {
	case certFile == "" && keyFile == "":
		return nil, nil
	case certFile == "":
		return nil, errors.New("a private key is set, but no certificate")
	case keyFile == "":
		keyFile = certFile
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("the client certificate %s with the key %s cannot be used: %w", certFile, keyFile, err)
	}
	return []tls.Certificate{pair}, nil
}

// Authorities returns the certificate authorities of the system and of a PEM file. Without a file it returns nil, which
// means those of the system.
func Authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the file of trusted authorities cannot be read: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s contains no certificate in PEM form (-----BEGIN CERTIFICATE-----)", file)
	}
	return pool, nil
}
