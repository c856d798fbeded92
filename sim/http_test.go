package sim

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// TestConnection sends the requests of HTTP clients on one raw connection.
func TestConnection(t *testing.T) {
	v := serve(t, func(c *Config) { c.OutputTokens = 3 })
	c, err := net.Dial("tcp", v.addr)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(2*time.Minute)))
	in := bufio.NewReader(c)
	send := func(s string) { _, err := io.WriteString(c, s); require.NoError(t, err) }
	answer := func() (int, string) {
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(b)
	}
	const body = `{"prompt":[1],"stream":true}`
	send(rawRequest("/v1/completions", body) + rawRequest("/v1/completions", `{"prompt":[1]}`)) // pipelined
	status, stream := answer()
	require.Equal(t, 200, status)
	require.Len(t, events(t, stream), 4)
	status, plain := answer()
	require.Equal(t, 200, status)
	_, text, _ := joined(t, stream, 0)
	require.Equal(t, text, decode(t, plain).Choices[0].Text)
	// A body with chunked transfer coding.
	send("POST /v1/completions HTTP/1.1\r\nHost: sim\r\nContent-Type: application/json\r\nTransfer-Encoding: " +
		"chunked\r\n\r\n7\r\n{\"promp\r\n15\r\nt\":[1],\"stream\":true}\r\n0\r\n\r\n")
	status, _ = answer()
	require.Equal(t, 200, status)
	// A client that waits for 100 Continue.
	send(fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: sim\r\nContent-Type: application/json\r\nExpect: "+
		"100-continue\r\nContent-Length: %d\r\n\r\n", len(body)))
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 100 Continue\r\n", line)
	_, _ = in.ReadString('\n')
	send(body)
	status, _ = answer()
	require.Equal(t, 200, status)
	// A client that asks for the end of the connection.
	send("GET /health HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n")
	status, _ = answer()
	require.Equal(t, 200, status)
	_, err = in.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

// The head of a stream precedes its first token, however late that is.
func TestHeadIsSentBeforeTheFirstToken(t *testing.T) {
	v := serve(t, func(c *Config) { c.TTFT = time.Hour })
	_, in := v.dial(`{"prompt":[1],"stream":true}`)
	for line := ""; line != "\r\n"; {
		var err error
		line, err = in.ReadString('\n')
		require.NoError(t, err)
	}
	require.Zero(t, v.Stats().GeneratedTokens)
}

// TestOneChunkPerEvent checks the framing of chunks.
func TestOneChunkPerEvent(t *testing.T) {
	v := serve(t, func(c *Config) { c.OutputTokens = 5 })
	_, in := v.dial(`{"prompt":[1],"stream":true,"stream_options":{"include_usage":true}}`)
	var head []string
	for {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		if line == "\r\n" {
			break
		}
		head = append(head, strings.TrimSpace(line))
	}
	require.Equal(t, "HTTP/1.1 200 OK", head[0])
	require.Contains(t, head, "content-type: text/event-stream; charset=utf-8")
	require.Contains(t, head, "transfer-encoding: chunked")
	n := 0
	for {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		var size int
		_, err = fmt.Sscanf(line, "%x\r\n", &size)
		require.NoError(t, err)
		chunk := make([]byte, size+2)
		_, err = io.ReadFull(in, chunk)
		require.NoError(t, err)
		if size == 0 {
			break
		}
		require.True(t, strings.HasPrefix(string(chunk), "data: "), string(chunk))
		require.True(t, strings.HasSuffix(string(chunk), "\n\n\r\n"))
		require.Equal(t, 2, strings.Count(string(chunk[:size]), "\n"))
		n++
	}
	require.Equal(t, 7, n)
}

func TestHostileConnections(t *testing.T) {
	v := serve(t, func(c *Config) { c.IdleTimeout = 100 * time.Millisecond })
	raw := func(s string) string {
		c, err := net.Dial("tcp", v.addr)
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(2*time.Minute)))
		go func() { _, _ = io.WriteString(c, s) }() // the server may hang up before it has read all
		b, _ := io.ReadAll(c)
		return string(b)
	}
	require.Empty(t, raw(""), "an idle connection is closed")
	require.Contains(t, raw("nonsense\r\n\r\n"), "HTTP/1.1 400 ")
	require.Contains(t, raw("GET / HTTP/1.1\r\nHost: sim\r\nX: "+strings.Repeat("x", 2*maxHead)+"\r\n\r\n"),
		"HTTP/1.1 400 ")
	require.Contains(t, raw("POST /v1/completions HTTP/1.1\r\nHost: sim\r\nContent-Length: 67108865\r\n\r\n"),
		"HTTP/1.1 413 ")
	require.Contains(t, raw("POST /v1/completions HTTP/1.1\r\nHost: sim\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
		"HTTP/1.1 400 ")
	require.Contains(t, raw("GET /health HTTP/1.1\r\nHost: sim\r\n\r\n"), "HTTP/1.1 200 ", "and closed when idle again")
}

// TestNoSocket serves connections that are not sockets.
func TestNoSocket(t *testing.T) {
	server, client := net.Pipe()
	s, err := New(fastConfig())
	require.NoError(t, err)
	ln := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	ln.conn <- server
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), ln) }()
	go func() { _, _ = io.WriteString(client, rawRequest("/v1/completions", `{"prompt":[1],"stream":true}`)) }()
	resp, err := http.ReadResponse(bufio.NewReader(client), nil)
	require.NoError(t, err)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Len(t, events(t, string(b)), 9)
	require.NoError(t, ln.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed, "a listener that fails ends the server")
}

type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
func (l *oneConn) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func TestMetrics(t *testing.T) {
	v := serve(t, func(c *Config) { c.Model = `to"y`; c.OutputTokens = 9 })
	for range 3 {
		v.mustPost("/v1/completions", `{"prompt":[1,2],"max_tokens":20,"stream":true}`)
		v.mustPost("/v1/completions", `{"prompt":[[1,2],[3]],"max_tokens":4}`)
	}
	resp, err := v.client.Get(v.url("/metrics"))
	require.NoError(t, err)
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	require.NoError(t, err)
	for name, f := range families {
		require.Equal(t, `to"y`, label(f.Metric[0].Label, "model_name"), name)
		require.Equal(t, "0", label(f.Metric[0].Label, "engine"), name)
	}
	st := v.Stats()
	require.EqualValues(t, 3*9+3*8, st.GeneratedTokens)
	require.EqualValues(t, st.GeneratedTokens, families["vllm:generation_tokens_total"].Metric[0].GetCounter().GetValue())
	require.EqualValues(t, 3*5, families["vllm:prompt_tokens_total"].Metric[0].GetCounter().GetValue())
	require.Zero(t, families["vllm:num_requests_running"].Metric[0].GetGauge().GetValue())
	require.Zero(t, families["vllm:num_requests_waiting"].Metric[0].GetGauge().GetValue())
	reasons := map[string]float64{}
	for _, m := range families["vllm:request_success_total"].Metric {
		reasons[label(m.Label, "finished_reason")] = m.GetCounter().GetValue()
	}
	require.Equal(t, map[string]float64{"stop": 3, "length": 6, "abort": 0, "error": 0, "repetition": 0}, reasons)
	for name, want := range map[string]struct {
		count  uint64
		bounds []float64
	}{
		"time_to_first_token_seconds": {9, ttftBounds},
		"inter_token_latency_seconds": {3*8 + 6*3, itlBounds},
		"e2e_request_latency_seconds": {9, e2eBounds},
	} {
		h := families["vllm:"+name].Metric[0].GetHistogram()
		require.Equal(t, want.count, h.GetSampleCount(), name)
		require.Len(t, h.Bucket, len(want.bounds)+1)
		for i, b := range want.bounds {
			require.Equal(t, b, h.Bucket[i].GetUpperBound())
		}
		require.True(t, math.IsInf(h.Bucket[len(want.bounds)].GetUpperBound(), 1))
		require.Equal(t, want.count, h.Bucket[len(want.bounds)].GetCumulativeCount())
	}
}

func label[L interface {
	GetName() string
	GetValue() string
}](labels []L, name string) string {
	for _, l := range labels {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

func TestWriteReadyFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ready")
	require.NoError(t, WriteReadyFile(path, "http://127.0.0.1:1"))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:1\n", string(b))
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.ErrorContains(t, WriteReadyFile(filepath.Join(dir, "none", "ready"), "x"), "a folder that exists")
}
