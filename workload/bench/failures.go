package bench

import (
	"errors"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/secret"
)

// mostFailures bounds failures.jsonl. The counts of bench.json include all.
const mostFailures = 10_000

// failures writes failures.jsonl: one line for each failed attempt. The first one creates the file.
type failures struct {
	path    string
	access  atomicfile.Access
	urls    []string
	start   int64
	secrets *secret.Redactor

	show func(*Failure)

	mu    sync.Mutex
	lines *atomicfile.Lines
	n     int
	first string
	err   error
}

type failure struct {
	Request  int             `json:"slot"`
	Endpoint string          `json:"endpoint"`
	AtS      float64         `json:"at_s"`
	Reason   backends.Reason `json:"reason"`
	Retried  bool            `json:"retried"`
	Detail   string          `json:"detail"`
	Body     string          `json:"body,omitempty"`
}

// Any goroutine may call add.
func (f *failures) add(a backends.Attempt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.n > mostFailures || f.err != nil {
		return
	}
	if f.lines == nil {
		if f.lines, f.err = f.access.CreateLines(f.path); f.err != nil {
			return
		}
	}
	line := failure{Request: a.Query.Seq, AtS: time.Duration(a.AtNS - f.start).Seconds(), Reason: a.Reason,
		Retried: a.Retried, Detail: a.Detail, Body: string(a.Body)}
	if a.Endpoint >= 0 && a.Endpoint < len(f.urls) {
		line.Endpoint = f.urls[a.Endpoint]
	}
	f.show(&Failure{At: time.Unix(0, a.AtNS), Endpoint: line.Endpoint, Reason: a.Reason, Retried: a.Retried,
		Detail: a.Detail})
	if f.first == "" {
		f.first = string(a.Reason) + ": " + a.Detail
	}
	text, err := f.secrets.JSON(line)
	if f.err = err; err == nil {
		f.err = f.lines.AppendRaw(text)
	}
}

func (f *failures) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines != nil {
		f.err = errors.Join(f.err, f.lines.Close())
		f.lines = nil
	}
	return f.err
}
