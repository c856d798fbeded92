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

// nginxConfig sends one answer to every POST, and the answers to a preflight. It needs no file and no log.
const nginxConfig = `daemon off; worker_processes 1; pid pid; error_log stderr crit;
events { worker_connections 20000; }
http {
	access_log off; keepalive_requests 1000000000; server_tokens off; default_type application/json;
	client_body_temp_path body; proxy_temp_path t1; fastcgi_temp_path t2; uwsgi_temp_path t3; scgi_temp_path t4;
	client_body_buffer_size 64k; ssl_certificate cert.pem; ssl_certificate_key key.pem;
	map $http_x_request_id $answer_id { "" $request_id; default $http_x_request_id; }
	%s
}
`

// nginxServer is one of nginx's servers: where it listens, its settings, and the type and body of its answer.
const nginxServer = `server {
		listen %s backlog=4096; %s
		location = /v1/models { return 200 '{"object":"list","data":[{"id":"m","max_model_len":8192}]}'; }
		location = /version { return 200 '{"version":"0.32.0"}'; }
		location / { default_type %s; return 200 '%s'; }
	}
	`

// The servers of Nginx.
const (
	NginxPlain   = "plain"
	NginxTLS     = "TLS"
	NginxFull    = "full"    // TLS; each connection carries one request, and none resumes a session
	NginxResumed = "resumed" // TLS; each connection carries one request
)

// NginxID in an answer becomes its id: that of the request, or one of nginx's own for a request without an id, like
// vLLM's.
const NginxID = "$answer_id"

// nginxServers are the settings of the servers.
var nginxServers = map[string]struct{ listen, settings string }{
	NginxPlain:   {"", ""},
	NginxTLS:     {" ssl", "ssl_session_tickets on;"},
	NginxFull:    {" ssl", "keepalive_timeout 0; ssl_session_tickets off; ssl_session_cache off;"},
	NginxResumed: {" ssl", "keepalive_timeout 0; ssl_session_tickets on;"},
}

// Nginx starts nginx, pinned to a processor, and returns the URLs of its servers, which send the body of an answer
// without chunks, and its Content-Type, to every POST. Without nginx it prints a line and returns nil.
func Nginx(t testing.TB, cpu int, answer string) map[string]string {
	program, err := exec.LookPath("nginx")
	if err != nil {
		fmt.Fprintln(os.Stderr, "nginx is not installed: the rows over HTTPS and of whole runs are left out (Debian: "+
			"apt-get install nginx-light)")
		return nil
	}
	head, body, ok := strings.Cut(answer, "\r\n\r\n")
	_, kind, _ := strings.Cut(head, "Content-Type: ")
	kind, _, _ = strings.Cut(kind, "\r\n")
	fixed := strings.ReplaceAll(body, NginxID, "")
	require.True(t, ok && !strings.ContainsAny(fixed, "'$\\"), "nginx would read the answer as its own language")
	urls, servers, address := map[string]string{}, "", ""
	for name, server := range nginxServers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address = l.Addr().String()
		require.NoError(t, l.Close())
		servers += fmt.Sprintf(nginxServer, address+server.listen, server.settings, kind, body)
		urls[name] = map[bool]string{true: "https://", false: "http://"}[server.listen != ""] + address
	}
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
	write("conf", fmt.Appendf(nil, nginxConfig, servers))
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
	return urls
}
