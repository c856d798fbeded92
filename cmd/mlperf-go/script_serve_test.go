package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// cmdServe starts a server that is not an inference server, and stores its URL in a variable: serve NAME
// html|escape|redirect|hub|proxy|closed|later|ssh|tls|tokens|hidden URL|double URL|foreign URL|certified URL|
// tunnels URL|secure-tunnels URL. A hub serves the files in the folder published to clients with its token. Tokens is a
// server's tokenizer behind TLS, whose certificate is in the file NAME.pem.
func cmdServe(ts *testscript.TestScript, _ bool, args []string) {
	handlers := map[string]http.HandlerFunc{
		"html": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			// A client that left does not matter.
			_, _ = io.WriteString(w, "<!DOCTYPE html><html><body>Welcome, please sign in</body></html>")
		},
		"escape": escaping,
		"huge": func(w http.ResponseWriter, _ *http.Request) { // 100 MB of a metrics page
			line := []byte(strings.Repeat("# a comment of a page that never ends\n", 1<<12))
			for sent := 0; sent < 100<<20; sent += len(line) {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://login.example/"+r.URL.Path, http.StatusFound)
		},
		"proxy":  forward,
		"hidden": hiding(args),
		"double": doubling(args),
		"hub": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer quite-secret" {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			w.Header().Set("X-Repo-Commit", strings.Repeat("c0", 20))
			http.ServeFile(w, r, ts.MkAbs(filepath.Join("published", filepath.Clean(r.URL.Path))))
		},
	}
	if args[1] == "closed" || args[1] == "later" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if args[1] == "later" {
			l, err = net.Listen("tcp", unusedLater())
		}
		ts.Check(err)
		ts.Setenv(args[0], "http://"+l.Addr().String())
		ts.Check(l.Close())
		return
	}
	if args[1] == "foreign" {
		ts.Setenv(args[0], foreignServer(ts, args[2]))
		return
	}
	if args[1] == "tls" {
		ts.Setenv(args[0], resetter(ts))
		return
	}
	if args[1] == "ssh" {
		ts.Setenv(args[0], greeter(ts))
		return
	}
	switch args[1] {
	case "tokens":
		serveTLS(ts, args[0], httptest.NewUnstartedServer(http.HandlerFunc(tokenize)))
		return
	case "certified":
		serveCertified(ts, args)
		return
	case "tunnels", "secure-tunnels":
		serveTunnels(ts, args)
		return
	}
	s := httptest.NewServer(handlers[args[1]])
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// tokenize answers like a server whose tokens are bytes.
func tokenize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Prompt string
		Tokens []int
	}
	if json.NewDecoder(r.Body).Decode(&q) != nil {
		http.Error(w, "what is this", http.StatusBadRequest)
		return
	}
	ids := make([]int, len(q.Prompt))
	for i := range ids {
		ids[i] = int(q.Prompt[i])
	}
	answer := map[string]any{"tokens": ids, "count": len(ids)}
	if r.URL.Path == "/detokenize" {
		text := make([]byte, len(q.Tokens))
		for i, id := range q.Tokens {
			text[i] = byte('a' + id%26)
		}
		answer = map[string]any{"text": string(text)} // like SGLang
	}
	_ = json.NewEncoder(w).Encode(answer) // a client that left does not matter
}

// steering clears the screen, names the window, hides and reverses the following text, and continues in a line that
// looks like the program's own.
const steering = "\x1b[2J\x1b]0;owned\x07\u009b8m\u202e\r\nVALID\xff"

// escaping answers every request like an inference server, with control sequences in every text.
func escaping(w http.ResponseWriter, r *http.Request) {
	escaped := strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`, "\r", `\r`, "\n", `\n`).Replace(steering)
	switch r.URL.Path {
	case "/health":
	case "/version":
		_, _ = io.WriteString(w, `{"version":"1`+escaped+`"}`) // a client that left does not matter
	case "/v1/models":
		_, _ = io.WriteString(w, `{"data":[{"id":"some`+escaped+`llm"},{"id":"meta-llama/Llama-3.1-8B-Instruct"}]}`)
	default:
		w.Header().Set("Content-Type", "text/plain"+strings.Repeat("x", 100))
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "no "+steering+strings.Repeat("ä", 1000))
	}
}

// forward handles a request to a proxy, which contains a whole address.
func forward(w http.ResponseWriter, r *http.Request) {
	r.RequestURI = ""
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body) // a client that left does not matter
}

// hiding is a gateway that offers only OpenAI's routes of the server behind it.
func hiding(args []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/models":
			_, _ = io.WriteString(w, `{"data":[{"id":"meta-llama/Llama-3.1-8B-Instruct","owned_by":"us"}]}`)
		case strings.HasPrefix(r.URL.Path, "/v1/"):
			forward(w, at(r, args[2]))
		default:
			http.NotFound(w, r)
		}
	}
}

// doubling is a gateway that adds a route of llama.cpp to another server's.
func doubling(args []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/props" {
			_, _ = io.WriteString(w, `{"default_generation_settings":{},"total_slots":4}`)
			return
		}
		forward(w, at(r, args[2]))
	}
}

// foreignServer forwards the bytes of connections to a simulator and hides its name, so that it looks like another
// maker's server.
func foreignServer(ts *testscript.TestScript, base string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(server, client) // when one side ends, both end
				_ = server.Close()
			}()
			go func() {
				defer client.Close()
				for b := make([]byte, 64<<10); ; {
					n, err := server.Read(b)
					if _, gone := client.Write(bytes.ReplaceAll(b[:n], []byte("mlperf-go-sim"),
						[]byte("uvicorn"))); gone != nil || err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// at sends a request to another server.
func at(r *http.Request, base string) *http.Request {
	r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(base, "http://")
	return r
}

// resetter closes connections with a plain-text request, as many TLS servers do.
func resetter(ts *testscript.TestScript) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = c.Close()
		}
	}))
	ts.Defer(s.Close)
	return s.URL
}

// greeter sends the first bytes, like SSH, and then reads as long as the other side stays.
func greeter(ts *testscript.TestScript) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n") // a client that left does not matter
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// unusedLater returns an address for a server that will listen minutes from now. Its port is below those that the
// kernel assigns to connections, which might use it until then.
func unusedLater() string {
	low := 32768 // if the kernel does not report the range
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &low)
	}
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", low/2+rand.IntN(max(low/2, 1)))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close() // no connection was accepted
			return address
		}
	}
	return "127.0.0.1:0"
}

// tokenCounters are the counters of each kind of server that correspond to one figure of the record.
var tokenCounters = []map[string][]string{
	{"tokens.output": {"vllm:generation_tokens_total"}, "tokens.input": {"vllm:prompt_tokens_total"}},
	{"tokens.output": {"llamacpp:tokens_predicted_total"},
		"tokens.input": {"llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"}},
	{"tokens.output": {"sglang:generation_tokens_total"}, "tokens.input": {"sglang:prompt_tokens_total"}},
}

// cmdCounted requires that the record's token counts equal the growth of the server's own counters since the last call:
// counted URL [DIR]; without DIR it only reads the counters.
func cmdCounted(ts *testscript.TestScript, _ bool, args []string) {
	for path := range tokenCounters[0] {
		key := "LAST_" + path + args[0]
		if len(args) == 1 {
			ts.Setenv(key, strconv.FormatFloat(tokensOf(ts, args[0], path), 'f', -1, 64))
			continue
		}
		last, _ := strconv.ParseFloat(ts.Getenv(key), 64) // 0 at first
		want, err := strconv.ParseFloat(recorded(ts, args[1], path), 64)
		ts.Check(err)
		now := 0.0
		// A server may count after its answer.
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if now = tokensOf(ts, args[0], path); now >= last+want || time.Now().After(deadline) {
				break
			}
		}
		ts.Setenv(key, strconv.FormatFloat(now, 'f', -1, 64))
		expect(ts, ts.ReadFile(filepath.Join(args[1], record.FileName)), []string{fmt.Sprintf("%s=%.0f", path, now-last)})
	}
}

func recorded(ts *testscript.TestScript, dir, path string) string {
	r, err := oneObject(ts.ReadFile(filepath.Join(dir, record.FileName)))
	ts.Check(err)
	return lookup(r, strings.Split(path, "."))
}

// tokensOf returns a server's count for one figure of the record.
func tokensOf(ts *testscript.TestScript, url, path string) (sum float64) {
	for _, kind := range tokenCounters {
		found := 0
		for _, name := range kind[path] {
			if value, ok := counter(ts, url, name); ok {
				sum, found = sum+value, found+1
			}
		}
		if found == len(kind[path]) {
			return sum
		}
	}
	ts.Fatalf("%s/metrics has no counter of %s", url, path)
	return 0
}

// counter adds the series of a server's counter, such as those of streams and of whole answers.
func counter(ts *testscript.TestScript, url, name string) (sum float64, ok bool) {
	response, err := http.Get(url + "/metrics")
	ts.Check(err)
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), name); found && strings.HasPrefix(rest, "{") ||
			strings.HasPrefix(rest, " ") && found {
			value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
			ts.Check(err)
			sum, ok = sum+value, true
		}
	}
	return sum, ok
}
