package nethttp

import (
	"cmp"
	"runtime"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// reportBuffer is how many reports may wait. LoadGen stamps at the call, so workers must not delay the reporting
// goroutine.
const reportBuffer = 4096

// request is one query in flight and the state of its answer. It is used again after its completion was reported.
type request struct {
	query    loadgen.Query
	asked    string // model that it names; empty: the run's
	key      uint64 // for the choice of an endpoint
	endpoint int    // balance.Nowhere: it is not sent
	answer   wire.Answer
	out      backends.Outcome
	body     []byte // first KiB of what the server sent in this attempt
	id       []byte // of this attempt; empty: the request has no id
}

func (r *request) begin(q loadgen.Query, key uint64, dequeuedNS int64) {
	r.query, r.key = q, key
	r.out = backends.Outcome{UsageTokens: -1, InputTokens: -1, CachedTokens: -1, DequeuedNS: dequeuedNS}
	r.body = r.body[:0]
}

// stamp records when an attempt began, and when it wrote the request; 0: it had no connection. The latencies of a
// repeated request begin with the first write, and the client's delay ends with the first attempt.
func (r *request) stamp(begunNS, sentNS int64) {
	if r.out.TriedNS == 0 {
		r.out.TriedNS = cmp.Or(sentNS, begunNS)
	}
	if r.out.SentNS == 0 {
		r.out.SentNS = sentNS
	}
}

// report is one call of the sink: a first token if first is set, tokens of a batch if news is set, else a completion.
type report struct {
	request *request
	first   bool
	tokens  []int32
	news    []wire.News // tokens of a streamed batch
	atNS    int64
}

// report makes all FirstToken and Complete calls of the shard in order, from one OS thread. The memory of a request is
// used for another query after Complete has returned.
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
