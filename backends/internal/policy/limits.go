package policy

import (
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
)

// Limits for what Config leaves 0: no deadline is infinite.
const (
	defaultConnect = 10 * time.Second
	defaultRequest = time.Hour
)

const (
	// IdleTimeout is below the 5 s after which the servers of this field close an idle connection
	// (spec/real-servers.md §2): a request must not race with that.
	IdleTimeout = 4 * time.Second
	// DrainTime is how long a connection may take to reach the end of an answer that needs nothing more.
	DrainTime = 100 * time.Millisecond
	// DrainBytes is how much of an answer that is complete or refused is read for the sake of its connection.
	DrainBytes = 64 << 10
	// MaxHead bounds the header of a response, in bytes.
	MaxHead = 256 << 10

	answerHead = 1 << 10 // bytes of an answer that a failure record keeps
)

// SetDefaults fills the deadlines that c leaves 0.
func SetDefaults(c *backends.Config) {
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = defaultConnect
	}
	if c.RequestTimeout <= 0 {
		c.RequestTimeout = defaultRequest
	}
	if c.FirstTokenTimeout <= 0 {
		c.FirstTokenTimeout = c.RequestTimeout
	}
	if c.TokenTimeout <= 0 {
		c.TokenTimeout = c.RequestTimeout
	}
}

// Keep appends to kept what of p belongs to the first KiB of an answer.
func Keep(kept, p []byte) []byte {
	if room := answerHead - len(kept); room > 0 {
		kept = append(kept, p[:min(room, len(p))]...)
	}
	return kept
}
