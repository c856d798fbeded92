package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/dial"
)

// Deadlines that Config leaves at 0. No deadline is infinite.
const (
	defaultConnect  = 10 * time.Second
	defaultRequest  = time.Hour
	defaultEndpoint = 30 * time.Second
)

const (
	// IdleTimeout is below the 5 s after which inference servers close an idle connection
	// (docs/reference/wire-protocols.md#connections), so that a request does not race with that.
	IdleTimeout = 4 * time.Second
	// DrainTime is how long the last byte of an answer that is complete already may take.
	DrainTime = 100 * time.Millisecond
	// DrainBytes is how much of a complete or refused answer is read so that its connection can be used again.
	DrainBytes = 64 << 10
	// MaxHead bounds the header of a response, in bytes.
	MaxHead = 256 << 10

	// AskAgain is the pause between two searches for an endpoint with room for a repeated request.
	AskAgain = 50 * time.Millisecond

	answerHead = 1 << 10 // bytes of an answer in the record of a failure
)

// SetDefaults sets the deadlines and the key that c leaves open.
func SetDefaults(c *backends.Config) {
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = defaultConnect
	}
	if c.RequestTimeout <= 0 {
		c.RequestTimeout = defaultRequest
	}
	if c.EndpointTimeout <= 0 {
		c.EndpointTimeout = defaultEndpoint
	}
	if c.Key == nil {
		c.Key = func(index int) uint64 { return uint64(index) }
	}
	if c.FirstTokenTimeout <= 0 {
		c.FirstTokenTimeout = c.RequestTimeout
	}
	if c.TokenTimeout <= 0 {
		c.TokenTimeout = c.RequestTimeout
	}
}

// Balance returns the options of a balancer for c, without its Health.
func Balance(c *backends.Config) (balance.Options, error) {
	o := balance.Options{Strategy: c.Balance, Endpoints: len(c.Endpoints), PerEndpoint: c.PerEndpoint}
	if err := o.Check(); err != nil {
		return o, fmt.Errorf("the client cannot be set up: %w", err)
	}
	return o, nil
}

// Counters count what happens at each endpoint. Any goroutine may read them.
type Counters struct {
	Opened []atomic.Int64 // connections
	Out    []atomic.Int64 // how often it was excluded

	unasked, strays atomic.Int64

	portless, fileless atomic.Int64

	lost        []atomic.Bool // by endpoint: a connection was refused or reset
	reconnected func(endpoint int)
}

// NewCounters returns counters for the endpoints of c.
func NewCounters(c *backends.Config) *Counters {
	n := len(c.Endpoints)
	return &Counters{Opened: make([]atomic.Int64, n), Out: make([]atomic.Int64, n), lost: make([]atomic.Bool, n),
		reconnected: c.Reconnected}
}

// Lost notes that an endpoint refused a connection or broke one.
func (c *Counters) Lost(endpoint int, reason backends.Reason) {
	switch reason {
	case backends.FailConnect, backends.FailReset, backends.FailTruncated:
		c.lost[endpoint].Store(true)
	}
}

// Exhausted reports whether a connection to an address (host:port) failed because this machine, not the server, allows
// no more connections. It counts failures for lack of a local port or an open file.
func (c *Counters) Exhausted(err error, address string) bool {
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		if !dial.HasSource(address) {
			return false
		}
		c.portless.Add(1)
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		c.fileless.Add(1)
	default:
		return errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
	}
	return true
}

// Connected counts a connection.
func (c *Counters) Connected(endpoint int) {
	c.Opened[endpoint].Add(1)
	if c.lost[endpoint].Load() && c.lost[endpoint].CompareAndSwap(true, false) && c.reconnected != nil {
		c.reconnected(endpoint)
	}
}

// Unexpected counts bytes that came on an HTTP/1.1 connection without a request, and reports whether they begin with an
// answer. Such an answer would count as that of the next request if it came a little later, so the server's other
// answers cannot be trusted. Interim answers (1xx) and empty lines are harmless, and some servers send a 408 before
// they close an idle connection.
func (c *Counters) Unexpected(b []byte) (answer bool) {
	b = behindInterim(b)
	code, answer := bytes.CutPrefix(b, []byte("HTTP/1."))
	switch {
	case len(b) == 0, answer && bytes.HasPrefix(code, []byte("1 408")):
		return false
	case answer:
		c.unasked.Add(1)
	default:
		c.strays.Add(1)
	}
	return answer
}

// behindInterim returns what follows interim answers and empty lines.
func behindInterim(b []byte) []byte {
	for {
		b = bytes.TrimLeft(b, "\r\n")
		if !bytes.HasPrefix(b, []byte("HTTP/1.1 1")) {
			return b
		}
		_, b, _ = bytes.Cut(b, []byte("\r\n\r\n")) // empty if the end of the interim answer is missing
	}
}

// Traffic returns the counts so far.
func (c *Counters) Traffic() backends.Traffic {
	return backends.Traffic{Connections: loaded(c.Opened), Exclusions: loaded(c.Out), Unasked: c.unasked.Load(),
		Strays: c.strays.Load(), Exhausted: backends.Exhausted{Ports: c.portless.Load(), Files: c.fileless.Load()}}
}

func loaded(counters []atomic.Int64) []int64 {
	counts := make([]int64, len(counters))
	for i := range counters {
		counts[i] = counters[i].Load()
	}
	return counts
}

// Health returns how endpoints are excluded and included again. peer returns what a connection for an endpoint is made
// to, wake is called when endpoints have returned.
func (c *Counters) Health(config *backends.Config, peer func(endpoint int) *url.URL, wake func()) balance.Health {
	return balance.Health{
		Try: func(ctx context.Context, endpoint int) error {
			return dial.Try(ctx, peer(endpoint), config.ConnectTimeout)
		},
		Wake: wake, Out: func(endpoint int) { c.Out[endpoint].Add(1) }, Patience: config.EndpointTimeout,
	}
}

// Keep appends p to kept, up to the first KiB of an answer.
func Keep(kept, p []byte) []byte {
	if room := answerHead - len(kept); room > 0 {
		kept = append(kept, p[:min(room, len(p))]...)
	}
	return kept
}
