package wiretest

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nginxConfig sends one answer to every request over TLS. Its answers need no file and no log.
const nginxConfig = `daemon off; worker_processes 1; pid pid; error_log stderr crit;
events { worker_connections 20000; }
http {
	access_log off; keepalive_requests 1000000000; server_tokens off; default_type application/json;
	client_body_temp_path body; proxy_temp_path t1; fastcgi_temp_path t2; uwsgi_temp_path t3; scgi_temp_path t4;
	client_body_buffer_size 64k; ssl_session_tickets on;
	server {
		listen %s ssl backlog=4096; ssl_certificate cert.pem; ssl_certificate_key key.pem;
		location / { return 200 '%s'; }
	}
}
`

// Nginx starts nginx, pinned to a processor, and returns its URL. It sends the body of a whole answer to every request
// over TLS. Without nginx it prints a line and returns an empty URL.
func Nginx(t testing.TB, cpu int, answer string) (url string) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		fmt.Fprintln(os.Stderr, "nginx is not installed: the rows over HTTPS are left out (Debian: apt-get install "+
			"nginx-light)")
		return ""
	}
	_, body, ok := strings.Cut(answer, "\r\n\r\n")
	require.True(t, ok && !strings.ContainsAny(body, "'$\\"), "nginx would read the answer as its own language")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	dir := t.TempDir()
	write := func(name string, content []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	certificate, chain, err := Certificate(time.Now().Add(24 * time.Hour))
	require.NoError(t, err)
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	require.NoError(t, err)
	write("cert.pem", chain)
	write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	write("conf", fmt.Appendf(nil, nginxConfig, address, body))
	cmd := exec.Command("taskset", "-c", fmt.Sprint(cpu), program, "-p", dir, "-c", "conf")
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() })
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		return c.Close() == nil
	}, Patience, 10*time.Millisecond, "nginx does not listen")
	return "https://" + address
}
