package engine

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// sent is what a part decides about a request: its number, its stage, its session and turn, and when it was due after
// the stage's start.
type sent struct {
	seq, stage    int
	session, turn int
	due           time.Duration
}

// runPart runs a part of single requests with two loops and returns what it sent.
func runPart(t *testing.T, s *server, p *profile.Profile, part Part) ([]sent, error) {
	src := &list{sessions: make([][]prompts.Call, 1000)}
	for i := range src.sessions {
		src.sessions[i] = []prompts.Call{{}}
	}
	return runPartOf(t, s, p, src, part)
}

func runPartOf(t *testing.T, s *server, p *profile.Profile, src *list, part Part) ([]sent, error) {
	path := filepath.Join(t.TempDir(), eventlog.FileName)
	log, err := eventlog.Create(path, eventlog.Header{StartNS: time.Now().UnixNano()})
	require.NoError(t, err)
	d, err := backends.Lookup("openai")
	require.NoError(t, err)
	c := &backends.Config{Endpoints: []backends.Endpoint{{URL: s.URL}},
		RequestOptions: backends.RequestOptions{API: p.API.Kind, ServedModel: "m", Stream: true},
		AnswerOptions:  backends.AnswerOptions{KeepText: src.conversations > 0}}
	encoder, err := NewEncoder(p, d, c)
	require.NoError(t, err)
	e := &Engine{Profile: p, Source: src, Encoder: encoder, Log: log, Part: part}
	var mu sync.Mutex
	starts := map[int]int64{}
	e.Gate = func(_ context.Context, stage int) (int64, error) {
		mu.Lock()
		defer mu.Unlock()
		starts[stage] = time.Now().Add(30 * time.Millisecond).UnixNano()
		return starts[stage], nil
	}
	for range 2 {
		own := *c
		own.Body = e.Body
		b, err := d.Open(&own)
		require.NoError(t, err)
		e.Backends = append(e.Backends, b)
	}
	_, err = e.Run(t.Context())
	require.NoError(t, log.Close(eventlog.End{Complete: err == nil}))
	if err != nil {
		return nil, err
	}
	var all []sent
	_, err = eventlog.Read(path, func(_ *eventlog.Header, r *eventlog.Request) error {
		all = append(all, sent{r.Seq, r.Stage, r.Session, r.Turn, time.Duration(r.DueNS - starts[r.Stage])})
		return nil
	})
	return all, err
}

// TestParts sends a workload in one, two and five parts. Together they always send the same requests at the same times.
func TestParts(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Poisson, Rate: 400, Requests: 83},
		profile.Stage{Arrival: profile.Constant,
			Rate: 300, Requests: 40})
	s := serve(t, time.Millisecond, nil)
	want, err := runPart(t, s, p, Part{})
	require.NoError(t, err)
	require.Len(t, want, 123)
	bySeq := func(a, b sent) int { return a.seq - b.seq }
	slices.SortFunc(want, bySeq)
	for _, of := range []int{2, 5} {
		var got []sent
		for i := range of {
			some, err := runPart(t, s, p, Part{i, of})
			require.NoError(t, err)
			got = append(got, some...)
		}
		slices.SortFunc(got, bySeq)
		require.Equal(t, want, got)
	}
}

// TestPartsOfUsers divides users and their requests: all requests are sent once, and no more at a time than users.
func TestPartsOfUsers(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 5, Requests: 60})
	s := serve(t, 2*time.Millisecond, nil)
	var mu sync.Mutex
	var seqs []int
	var wait sync.WaitGroup
	for i := range 3 {
		wait.Go(func() {
			some, err := runPart(t, s, p, Part{i, 3})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			for _, r := range some {
				seqs = append(seqs, r.seq)
			}
		})
	}
	wait.Wait()
	slices.Sort(seqs)
	require.Len(t, seqs, 60)
	require.Len(t, slices.Compact(seqs), 60)
	require.LessOrEqual(t, s.most.Load(), int64(5))

	p = profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 2, Requests: 60})
	_, err := runPart(t, s, p, Part{0, 3})
	require.ErrorContains(t, err, "3 shards cannot divide 2 requests in flight")
}

// sentBy runs a workload as a number of parts, at the same time, and returns what they sent together: the requests in
// the order of their due times, and the bodies that the server got.
func sentBy(t *testing.T, p *profile.Profile, src *list, of int) (all []sent, bodies []string) {
	t.Helper()
	s := serve(t, time.Millisecond, nil)
	parts, errs := make([][]sent, of), make([]error, of)
	var wait sync.WaitGroup
	for i := range of {
		wait.Go(func() { parts[i], errs[i] = runPartOf(t, s, p, src, Part{i, of}) })
	}
	wait.Wait()
	part, seqs := map[int]int{}, map[int]bool{}
	for i := range parts {
		require.NoError(t, errs[i])
		for _, r := range parts[i] {
			require.False(t, seqs[r.seq], "two requests have the number %d", r.seq)
			seqs[r.seq] = true
			if other, seen := part[r.session]; seen {
				require.Equal(t, other, i, "session %d belongs to two parts", r.session)
			}
			part[r.session] = i
		}
		all = append(all, parts[i]...)
	}
	slices.SortFunc(all, func(a, b sent) int {
		return cmp.Or(a.stage-b.stage, int(a.due-b.due), a.session-b.session, a.turn-b.turn)
	})
	slices.Sort(s.bodies)
	return all, s.bodies
}

// TestPartsOfConversations sends conversations at a rate, as one, two and three parts: the same turns with the same
// prompts are due at the same times.
func TestPartsOfConversations(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Poisson, Rate: 300, Requests: 71},
		profile.Stage{Arrival: profile.Constant, Rate: 250, Requests: 40})
	src := &list{conversations: 7}
	for i := range 7 {
		src.sessions = append(src.sessions, chain(2+i%3, 0))
	}
	want, bodies := sentBy(t, p, src, 1)
	require.Len(t, want, 111)
	for _, of := range []int{2, 3} {
		got, same := sentBy(t, p, src, of)
		require.Equal(t, bodies, same)
		require.Len(t, got, len(want))
		for i := range got {
			require.Equal(t, []any{want[i].stage, want[i].turn, want[i].due}, []any{got[i].stage, got[i].turn, got[i].due})
		}
	}
}

// TestPartsOfUsersWithConversations divides the users and the number of requests.
func TestPartsOfUsersWithConversations(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 5, Requests: 61})
	src := &list{conversations: 5, sessions: [][]prompts.Call{chain(3, 0), chain(2, 0)}}
	for _, of := range []int{1, 2, 5} {
		got, _ := sentBy(t, p, src, of)
		require.Len(t, got, 61)
	}
}

// TestPartsOfSessions sends a list of recorded sessions as one, two and three parts: each session is sent once and
// whole, and none begins earlier than the rate of sessions lets it.
func TestPartsOfSessions(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Sessions, Concurrency: 6, Rate: 200})
	src := &list{answer: "recorded"}
	for i := range 20 {
		src.sessions = append(src.sessions, chain(1+i%4, time.Duration(i%3)*time.Millisecond))
	}
	_, bodies := sentBy(t, p, src, 1)
	require.Len(t, bodies, 50)
	for _, of := range []int{2, 3} {
		got, same := sentBy(t, p, src, of)
		require.Equal(t, bodies, same)
		for _, r := range got {
			if place := r.session - 1; r.turn == 0 {
				require.GreaterOrEqual(t, r.due, time.Duration(place)*time.Second/200)
			}
		}
	}
}
