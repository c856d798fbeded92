package wiretest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Certificate returns a new certificate for this machine, valid until then, and itself in PEM form.
func Certificate(until time.Time) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "wiretest"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// ClientFiles writes a new certificate and its private key to PEM files in a folder.
func ClientFiles(folder string, until time.Time) (cert, key string, err error) {
	pair, text, err := Certificate(until)
	if err != nil {
		return "", "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return "", "", err
	}
	cert, key = filepath.Join(folder, "client.pem"), filepath.Join(folder, "client.key")
	if err := os.WriteFile(cert, text, 0o600); err != nil {
		return "", "", err
	}
	return cert, key, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// Demanding returns settings of servers that require a certificate, which the authorities of a PEM file have signed.
func Demanding(config *tls.Config, authorities string) (*tls.Config, error) {
	text, err := os.ReadFile(authorities)
	if err != nil {
		return nil, err
	}
	config = config.Clone()
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	config.ClientCAs.AppendCertsFromPEM(text)
	return config, nil
}

// ServerTLS returns the TLS settings of the servers here. Their certificate is not trusted.
var ServerTLS = sync.OnceValue(func() *tls.Config {
	certificate, _, err := Certificate(time.Now().Add(24 * time.Hour))
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}}
})

// Secured returns a listener whose connections use TLS.
func Secured(l net.Listener) net.Listener { return tls.NewListener(l, ServerTLS()) }

// Reset resets a connection, with or without TLS.
func Reset(c net.Conn) {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

// url returns the URL of a server that uses TLS if the contract is tested with it.
func (k *Contract) url(plain string) string {
	if k.Secure {
		return strings.Replace(plain, "http:", "https:", 1)
	}
	return plain
}

// Raw is the function Raw, with TLS if the contract is tested with it.
func (k *Contract) Raw(t testing.TB, script Script) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return k.RawOn(t, l, script)
}

// RawOn is the function RawOn, with TLS if the contract is tested with it.
func (k *Contract) RawOn(t testing.TB, l net.Listener, script Script) string {
	if k.Secure {
		l = Secured(l)
	}
	return k.url(RawOn(t, l, script))
}

func (k *Contract) absent(t *testing.T) (url string, listen func() net.Listener) {
	url, listen = Absent(t)
	return k.url(url), listen
}

func (k *Contract) serve(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	if !k.Secure {
		s.Start()
		return s
	}
	s.TLS = ServerTLS().Clone()
	s.StartTLS()
	return s
}

// Over returns the server's side of TLS on a connection.
func Over(c net.Conn) net.Conn { return tls.Server(c, ServerTLS()) }
