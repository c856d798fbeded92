package backends

import (
	"crypto/x509"
	"fmt"
	"os"
)

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
