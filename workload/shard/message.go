package shard

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// message is one line of a connection. Exactly one of its members is set.
type message struct {
	Clock    *clockMessage `json:"clock,omitempty"`    // asked by the coordinator, answered by the shard
	Ready    *int          `json:"ready,omitempty"`    // shard: the first requests of a stage are prepared
	Start    *startMessage `json:"start,omitempty"`    // coordinator: when a stage starts
	Progress *Progress     `json:"progress,omitempty"` // shard, about once a second
}

type clockMessage struct {
	Number int   `json:"number"`
	NowNS  int64 `json:"now_ns,omitempty"` // of the shard's wall clock
}

type startMessage struct {
	Stage int   `json:"stage"`
	AtNS  int64 `json:"at_ns"` // of the shard's wall clock
}

// Progress is the progress of a shard so far.
type Progress struct {
	Stage  int   `json:"stage"`
	Sent   int64 `json:"sent"`
	Ended  int64 `json:"ended"`
	Failed int64 `json:"failed"`
	Output int64 `json:"output_tokens"`
}

// maxLine bounds a line: the longest message has less than 200 bytes.
const maxLine = 4096

// link is one end of a connection.
type link struct {
	mu  sync.Mutex // of writing
	out io.Writer
	in  *bufio.Reader
}

func newLink(in io.Reader, out io.Writer) *link {
	return &link{out: out, in: bufio.NewReaderSize(in, maxLine)}
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
	line, err := l.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	m := &message{}
	if err := json.Unmarshal(line, m); err != nil {
		return nil, fmt.Errorf("an unexpected line of %d bytes: %w", len(line), err)
	}
	return m, nil
}
