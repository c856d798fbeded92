package nethttp

import (
	"runtime"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// reportBuffer is how many reports may wait: LoadGen stamps at the call, so a worker must never be the reason of a
// wait.
const reportBuffer = 4096

// request is one query on its way, and what its answer needs. It is used again after its completion was reported.
type request struct {
	query    loadgen.Query
	key      uint64 // what the choice of an endpoint goes by
	endpoint int    // where it goes; balance.Nowhere: it is not sent
	answer   wire.Answer
	out      backends.Outcome
	body     []byte // first KiB of what the server sent in this attempt
	id       []byte // of this attempt; empty: it carries none
}

func (r *request) begin(q loadgen.Query, key uint64, dequeuedNS int64) {
	r.query, r.key = q, key
	r.out = backends.Outcome{UsageTokens: -1, InputTokens: -1, DequeuedNS: dequeuedNS}
	r.body = r.body[:0]
}

// report is one call of LoadGen's to come: a first token where first is set, tokens of a batch where there are some,
// else a completion.
type report struct {
	request *request
	first   bool
	tokens  []int32
	news    []wire.News // tokens of a streamed batch; nil: this is none
	atNS    int64
}

// report makes every FirstToken and Complete call of the shard, in order, from one OS thread. A completed request is
// ready for the next query when Complete has returned.
func (s *shard) report() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for r := range s.reports {
		switch {
		case r.first:
			s.sink.FirstToken(r.request.query, r.tokens, r.atNS)
			continue
		case r.news != nil:
			s.client.protocol.Streamed(r.request.query, r.news, r.atNS)
			continue
		}
		s.sink.Complete(r.request.query, &r.request.out)
		s.client.requests.Put(r.request)
	}
}
