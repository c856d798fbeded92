package shard

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/report/live"
)

// message is one line of a connection. Exactly one of its members is set.
type message struct {
	Clock    *clockMessage `json:"clock,omitempty"`    // asked by the coordinator, answered by the shard
	Ready    *int          `json:"ready,omitempty"`    // shard: the first requests of a stage are prepared
	Start    *startMessage `json:"start,omitempty"`    // coordinator: when a stage starts
	Progress *Progress     `json:"progress,omitempty"` // shard, about once a second
	Stop     *stopMessage  `json:"stop,omitempty"`     // coordinator: the run ends, as by an interrupt
}

type clockMessage struct {
	Number int   `json:"number"`
	NowNS  int64 `json:"now_ns,omitempty"` // of the shard's wall clock
}

type startMessage struct {
	Stage int   `json:"stage"`
	AtNS  int64 `json:"at_ns"` // of the shard's wall clock
	// Count asks the shard to count its requests by the second, from this start on.
	Count bool `json:"count,omitempty"`
}

type stopMessage struct{}

// Progress is the progress of a shard so far.
type Progress struct {
	Stage  int   `json:"stage"`
	Sent   int64 `json:"sent"`
	Ended  int64 `json:"ended"`
	Failed int64 `json:"failed"`
	// Cancelled is the number of requests that ended because the run ended early; not in Failed.
	Cancelled int64 `json:"cancelled,omitempty"`
	Output    int64 `json:"output_tokens"`
	// Counted is how many seconds since the first start have been counted; in a sum, by all shards. Last: no request
	// ended later. Second is the last of the seconds; in a sum, of the shard that has just reported. nil: no request ended
	// in it.
	Counted int          `json:"counted,omitempty"`
	Last    bool         `json:"last,omitempty"`
	Second  *live.Second `json:"second,omitempty"`
	// Elapsed is the time since the first start; only in a sum. 0: before it.
	Elapsed time.Duration `json:"-"`
	// Shard is the number of the shard that has just reported; only in a sum.
	Shard int `json:"-"`
}

// maxLine bounds a line: the counts of a second with a request in every bucket have 150 kB.
const maxLine = 256 << 10

// link is one end of a connection.
type link struct {
	mu  sync.Mutex // of writing
	out io.Writer
	in  *bufio.Scanner
}

func newLink(in io.Reader, out io.Writer) *link {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	return &link{out: out, in: lines}
}

func (l *link) send(m *message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.out.Write(append(line, '\n'))
	return err
}

func (l *link) receive() (*message, error) {
	if !l.in.Scan() {
		return nil, cmp.Or(l.in.Err(), io.EOF)
	}
	line, m := l.in.Bytes(), &message{}
	if err := json.Unmarshal(line, m); err != nil {
		return nil, fmt.Errorf("an unexpected line of %d bytes: %w", len(line), err)
	}
	return m, nil
}
