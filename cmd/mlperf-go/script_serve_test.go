package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mlperf-go/mlperf-go/run"
)

// cmdServe starts a server that is no inference server and puts its URL into a variable: serve NAME html|redirect|closed
func cmdServe(ts *testscript.TestScript, _ bool, args []string) {
	handlers := map[string]http.HandlerFunc{
		"html": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<!DOCTYPE html><html><body>Welcome, please sign in</body></html>") // a client that left does not matter
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://login.example/"+r.URL.Path, http.StatusFound)
		},
	}
	if args[1] == "closed" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Setenv(args[0], "http://"+l.Addr().String())
		ts.Check(l.Close())
		return
	}
	s := httptest.NewServer(handlers[args[1]])
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// cmdCounted wants the record's token counts to be the growth of the server's own counters since the last call: counted URL DIR
func cmdCounted(ts *testscript.TestScript, _ bool, args []string) {
	for name, path := range map[string]string{"vllm:generation_tokens_total": "tokens.output", "vllm:prompt_tokens_total": "tokens.input"} {
		now := counter(ts, args[0], name)
		key := "LAST_" + strings.ReplaceAll(name, ":", "_") + args[0]
		last, _ := strconv.ParseFloat(ts.Getenv(key), 64) // 0 at first
		ts.Setenv(key, strconv.FormatFloat(now, 'f', -1, 64))
		expect(ts, ts.ReadFile(filepath.Join(args[1], run.RecordName)), []string{fmt.Sprintf("%s=%.0f", path, now-last)})
	}
}

func counter(ts *testscript.TestScript, url, name string) float64 {
	response, err := http.Get(url + "/metrics")
	ts.Check(err)
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), name+"{") {
			value, err := strconv.ParseFloat(lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:], 64)
			ts.Check(err)
			return value
		}
	}
	ts.Fatalf("%s/metrics has no %s", url, name)
	return 0
}
