package openai_test

import (
	"bytes"
	"testing"
	"time"

	"go.uber.org/goleak"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// one is a source of one query.
type one struct{ popped bool }

func (s *one) Pop(dst []loadgen.Query) int {
	if s.popped {
		return 0
	}
	s.popped = true
	dst[0] = loadgen.Query{ID: 1}
	return 1
}

func (s *one) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	n := s.Pop(dst)
	return n, n > 0
}

// keeper is a sink for one query.
type keeper struct {
	outcome     backends.Outcome
	attempt     backends.Attempt
	completions int
}

func (k *keeper) FirstToken(loadgen.Query, []int32, int64) {}
func (k *keeper) TokenGap(int64, int)                      {}
func (k *keeper) Failed(a backends.Attempt)                { k.attempt = a }

func (k *keeper) Complete(_ loadgen.Query, o *backends.Outcome) {
	k.outcome = *o
	k.outcome.Tokens, k.outcome.Text = append([]int32(nil), o.Tokens...), bytes.Clone(o.Text)
	k.completions++
}
