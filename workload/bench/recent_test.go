package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// Each request that ended is shown once, with the time when it was due, unless its client left or was slow on purpose.
func TestRecentRequests(t *testing.T) {
	const ms = int64(time.Millisecond)
	answered := eventlog.Request{DueNS: 100 * ms, ReadyNS: 101 * ms, SentNS: 102 * ms, EndNS: 400 * ms, OutputTokens: 3,
		Events: []eventlog.Event{{AtNS: 150 * ms, Tokens: 1}, {AtNS: 250 * ms, Tokens: 2}}}
	failed := eventlog.Request{DueNS: 200 * ms, SentNS: 201 * ms, EndNS: 202 * ms, Reason: "reset"}
	left, slow, cancelled := answered, answered, answered
	left.Leaver, slow.Slow, cancelled.Cancelled = true, true, true

	var r recent
	shown := trial{recent: &r}
	for _, e := range []eventlog.Request{answered, left, failed, slow, cancelled} {
		shown.ended(&e)
	}
	var p Progress
	r.take(&p)
	var due []int64
	for e, at := range p.Latest {
		due = append(due, at)
		require.Equal(t, at == 100*ms, e.Succeeded())
	}
	require.Equal(t, []int64{100 * ms, 200 * ms}, due)
	require.InEpsilon(t, 50*ms, int64(p.TTFTp99), .02, "from the time when it was due")
	require.InEpsilon(t, 50*ms, int64(p.TPOTp99), .02)

	shown.ended(&failed)
	r.take(&p)
	require.Len(t, entriesOf(&p), 1, "the earlier ones were taken")
	r.take(&p)
	require.Empty(t, entriesOf(&p))
}

func entriesOf(p *Progress) (list []ledger.Entry) {
	for e := range p.Latest {
		list = append(list, *e)
	}
	return list
}

// A server's text about a failure becomes one line without the program's secrets. The number of failures is limited.
func TestRecentFailures(t *testing.T) {
	var secrets secret.Redactor
	secrets.Add("the-key-of-the-server")
	var r recent
	shown := trial{recent: &r, Options: Options{Secrets: &secrets}}
	for range mostFailed + 5 {
		shown.showFailure(&Failure{Reason: "reset",
			Detail: "no such the-key-of-the-server\n\x1b[31m" + strings.Repeat("x", 1000)})
	}
	var p Progress
	r.take(&p)
	require.Len(t, p.Failures, mostFailed)
	require.NotContains(t, p.Failures[0].Detail, "the-key-of-the-server")
	require.NotContains(t, p.Failures[0].Detail, "\n")
	require.NotContains(t, p.Failures[0].Detail, "\x1b")
	require.Less(t, len(p.Failures[0].Detail), 400)
	r.take(&p)
	require.Empty(t, p.Failures)

	var nobody *recent
	nobody.fail(&Failure{})
	nobody.take(&p)
	require.Empty(t, p.Failures)
}
