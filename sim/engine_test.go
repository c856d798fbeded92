package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/datasets"
)

func TestAnswersDependOnSeedAndPromptAlone(t *testing.T) {
	prompts := []string{`[1,2]`, `[3]`, `[4,5,6]`, `[1,2,3]`, `"some text"`}
	ask := func(seed uint64, order []int) map[int]string {
		v := serve(t, func(c *Config) { c.Seed = seed })
		out := map[int]string{}
		for _, i := range order {
			m := decode(t, v.mustPost("/v1/completions",
				`{"prompt":`+prompts[i]+`,"max_tokens":50,"min_tokens":12,"return_token_ids":true}`))
			out[i] = fmt.Sprint(m.Choices[0].TokenIDs)
		}
		return out
	}
	a := ask(7, []int{0, 1, 2, 3, 4})
	require.Equal(t, a, ask(7, []int{4, 2, 0, 3, 1}))
	b := ask(8, []int{0, 1, 2, 3, 4})
	for i := range prompts {
		require.NotEqual(t, a[i], b[i])
		require.NotEqual(t, a[i], a[(i+1)%len(prompts)])
	}
}

func TestReferenceAnswers(t *testing.T) {
	words := datasets.SynthVocabulary()
	rows := []datasets.Sample{
		{InputIDs: []int32{128000, 1, 2}, Input: "first prompt", Target: "Balara.\nBalalin dedodo."},
		{InputIDs: []int32{128000, 3}, Target: "Zazatu ü."},
		{InputIDs: []int32{128000, 1, 2}, Target: "a second answer to the same prompt is never given"},
		{InputIDs: []int32{128000, 9}},
	}
	v := serve(t, func(c *Config) {
		c.Answers, c.Dataset = AnswerReference, &datasets.Dataset{Samples: rows}
	})
	ask := func(prompt string) choice {
		return decode(t, v.mustPost("/v1/completions",
			`{"prompt":`+prompt+`,"max_tokens":128,"return_token_ids":true}`)).Choices[0]
	}
	first := ask(`[128000,1,2]`)
	require.Equal(t, rows[0].Target, first.Text)
	require.Equal(t, append(words.Encode(rows[0].Target), 128009), first.TokenIDs)
	require.Equal(t, "stop", *first.FinishReason)
	byText := ask(`"first prompt"`)
	require.Equal(t, rows[0].Target, byText.Text)
	require.Equal(t, rows[0].InputIDs, byText.PromptTokenIDs)
	require.Equal(t, rows[1].Target, ask(`[128000,3]`).Text)
	require.Equal(t, []int32{128009}, ask(`[128000,9]`).TokenIDs, "an empty reference is EOS alone")
	require.Len(t, ask(`[128000,4]`).TokenIDs, 8, "an unknown prompt has a random answer")
}

// TestAnswerLengths checks any combination of max_tokens, min_tokens, ignore_eos and stop ids against their rules.
func TestAnswerLengths(t *testing.T) {
	s, err := New(fastConfig())
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		l := limits{maxTokens: rapid.IntRange(1, 40).Draw(t, "max"), ignoreEOS: rapid.Bool().Draw(t, "ignore")}
		l.minTokens = rapid.IntRange(0, l.maxTokens).Draw(t, "min")
		if rapid.Bool().Draw(t, "stops") {
			l.stopIDs = []int32{randomLow + int32(rapid.IntRange(0, randomSpan-1).Draw(t, "stop"))}
		}
		prompt := rapid.SliceOfN(rapid.Int32Range(0, 999), 1, 9).Draw(t, "prompt")
		a := s.complete(prompt, -1, l)
		n := len(a.tokens)
		last := a.tokens[n-1]
		switch {
		case n < 1 || n > l.maxTokens:
			t.Fatalf("%d tokens with a maximum of %d", n, l.maxTokens)
		case a.finish == "length" && n != l.maxTokens:
			t.Fatalf("length at %d of %d", n, l.maxTokens)
		case a.finish == "stop" && n <= l.minTokens:
			t.Fatalf("stop at %d with a minimum of %d", n, l.minTokens)
		case a.finish == "stop" && a.stopID < 0 && (l.ignoreEOS || last != s.cfg.EOS):
			t.Fatalf("stop with %d as the last id", last)
		case a.stopID >= 0 && last != a.stopID:
			t.Fatalf("stop id %d, last id %d", a.stopID, last)
		case slices.Contains(a.tokens[:min(n, l.minTokens)], s.cfg.EOS):
			t.Fatal("EOS below the minimum")
		}
		if b := s.complete(prompt, -1, l); !slices.Equal(a.tokens, b.tokens) {
			t.Fatal("another answer the second time")
		}
	})
}

// TestSlots sends far more requests than the server has slots: never more than the limit run, and all are answered.
func TestSlots(t *testing.T) {
	v := serve(t, func(c *Config) {
		c.MaxNumSeqs, c.TTFT, c.TPOT, c.OutputTokens = 3, 2*time.Millisecond, time.Millisecond, 6
	})
	const n = 40
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { v.mustPost("/v1/completions", fmt.Sprintf(`{"prompt":[%d],"max_tokens":6}`, i)) })
	}
	wg.Wait()
	st := v.Stats()
	require.EqualValues(t, 3, st.PeakRunning)
	require.EqualValues(t, n, st.Served)
	require.EqualValues(t, n*6, st.GeneratedTokens)
	require.Zero(t, st.Running+st.Waiting)
}

// The request that has waited longest gets the next free slot.
func TestTheQueueIsServedInOrder(t *testing.T) {
	cfg := fastConfig()
	cfg.MaxNumSeqs = 1
	e := &engine{cfg: &cfg, meter: newMeters()}
	var all []*sequence
	for i := range 20 {
		q := &sequence{reply: &reply{arrival: int64(i+1) * 1e6, group: 1}, prompt: make([]int32, 1), tokens: make([]int32, 1)}
		q.reply.seqs = []*sequence{q}
		e.arrive(q.reply)
		all = append(all, q)
	}
	for i, q := range all {
		require.NotZero(t, q.due, "query %d has the slot", i)
		for _, later := range all[i+1:] {
			require.Zero(t, later.due)
		}
		q.sent = 1
		e.leave(q)
		e.admit(int64(i+30) * 1e6)
	}
}

func TestScheduleWithoutSockets(t *testing.T) {
	cfg := fastConfig()
	cfg.MaxNumSeqs, cfg.TTFT, cfg.TPOT, cfg.PrefillRate = 2, 5*time.Millisecond, time.Millisecond, 1000
	e := &engine{cfg: &cfg, meter: newMeters()}
	add := func(arrival, promptTokens, tokens int) *sequence {
		q := &sequence{reply: &reply{arrival: int64(arrival) * 1e6, stream: true, group: 1},
			prompt: make([]int32, promptTokens), tokens: make([]int32, tokens)}
		q.reply.seqs = []*sequence{q}
		e.arrive(q.reply)
		return q
	}
	a, b, c := add(0, 10, 4), add(3, 20, 4), add(4, 5, 4)
	ms := func(q *sequence) float64 { return float64(q.due) / 1e6 }
	require.Equal(t, 15.0, ms(a), "10 ms of prefill, 5 ms to the first token")
	require.Equal(t, 35.0, ms(b), "the prefill resource is free at 10 ms")
	require.Zero(t, c.due, "both slots are taken")
	a.sent = 1
	require.Equal(t, int64(16e6), e.dueOf(a))
	d := add(5, 1, 4)
	e.leave(a)
	e.admit(18e6)
	require.Equal(t, 40.0, ms(c), "admitted at 18 ms, prefill from 30 to 35 ms")
	require.Zero(t, d.due, "the first that waits goes first")
}

// TestTokensTakeLongerUnderLoad: a token takes as long as the sequences that run when the one before is sent require.
func TestTokensTakeLongerUnderLoad(t *testing.T) {
	cfg := fastConfig()
	cfg.TTFT, cfg.TPOT, cfg.TPOTPerSequence = 5*time.Millisecond, time.Millisecond, 100*time.Microsecond
	e := &engine{cfg: &cfg, meter: newMeters()}
	add := func(stream bool) *sequence {
		q := &sequence{reply: &reply{stream: stream, group: 1}, tokens: make([]int32, 11)}
		q.reply.seqs = []*sequence{q}
		e.arrive(q.reply)
		return q
	}
	send := func(q *sequence) time.Duration {
		before := q.due
		q.sent = q.eventEnd()
		q.due = e.dueOf(q)
		return time.Duration(q.due - before)
	}
	a := add(true)
	require.Equal(t, 5*time.Millisecond, time.Duration(a.due), "the first token takes as long as ever")
	require.Equal(t, time.Millisecond, send(a))
	b := add(true)
	require.Equal(t, 1100*time.Microsecond, send(a))
	require.Equal(t, 1100*time.Microsecond, send(b))
	whole := add(false)
	require.Equal(t, 17*time.Millisecond, time.Duration(whole.due), "by the three that run at its start")
	require.Equal(t, 1200*time.Microsecond, send(a))
	e.leave(b)
	e.leave(whole)
	require.Equal(t, time.Millisecond, send(a))
}

func TestKVBudget(t *testing.T) {
	v := serve(t, func(c *Config) {
		c.MaxModelLen, c.KVTokens, c.OutputTokens, c.TTFT = 50, 100, 10, 3*time.Millisecond
	})
	prompt, err := json.Marshal(slices.Repeat([]int{5}, 30)) // 40 tokens of KV each: two fit
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { v.mustPost("/v1/completions", `{"prompt":`+string(prompt)+`}`) })
	}
	wg.Wait()
	require.EqualValues(t, 2, v.Stats().PeakRunning)
	require.EqualValues(t, 80, v.Stats().PeakKVTokens)
}

// TestDisconnectFreesTheSlot: the client with the only slot disconnects, before and after its first token, streamed or
// not.
func TestDisconnectFreesTheSlot(t *testing.T) {
	v := serve(t, func(c *Config) { c.MaxNumSeqs, c.TTFT, c.TPOT = 1, 0, time.Hour })
	for i, stream := range []string{"true", "false", "true"} {
		c, in := v.dial(`{"prompt":[1],"max_tokens":8,"stream":` + stream + `}`)
		require.Eventually(t, func() bool { return v.Stats().Running == 1 }, time.Minute, time.Millisecond)
		waiting, _ := v.dial(`{"prompt":[2],"max_tokens":8,"stream":true}`)
		require.Eventually(t, func() bool { st := v.Stats(); return st.Running == 1 && st.Waiting == 1 }, time.Minute,
			time.Millisecond)
		if stream == "true" {
			_, err := in.ReadString('}')
			require.NoError(t, err)
		}
		require.NoError(t, waiting.Close())
		require.Eventually(t, func() bool { return v.Stats().Waiting == 0 }, time.Minute, time.Millisecond)
		require.NoError(t, c.Close())
		require.Eventually(t, func() bool { return v.Stats().Running == 0 }, time.Minute, time.Millisecond)
		require.EqualValues(t, 2*(i+1), v.Stats().Aborted)
	}
}

// TestThousandsInFlight keeps 5,000 requests open on few slots.
func TestThousandsInFlight(t *testing.T) {
	if testing.Short() {
		t.Skip("5,000 connections")
	}
	v := serve(t, func(c *Config) { c.MaxNumSeqs, c.TTFT = 64, time.Millisecond })
	const n = 5000
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
			status, _, body, err := v.post("/v1/completions", fmt.Sprintf(`{"prompt":[%d],"max_tokens":8,"stream":true}`, i))
			if err == nil && (status != 200 || body[len(body)-14:] != "data: [DONE]\n\n") {
				err = fmt.Errorf("status %d: %q", status, body)
			}
			errs <- err
		})
	}
	wg.Wait()
	for range n {
		require.NoError(t, <-errs)
	}
	require.EqualValues(t, 8*n, v.Stats().GeneratedTokens)
	require.LessOrEqual(t, v.Stats().PeakRunning, int64(64))
}

// TestTimes checks the schedule from the client's side. The machine may be busy: every attempt must meet the lower
// bound, and one attempt the upper bound.
func TestTimes(t *testing.T) {
	v := serve(t, func(c *Config) { c.TTFT, c.TPOT, c.OutputTokens = 5*time.Millisecond, 2*time.Millisecond, 20 })
	best, bestLast := time.Hour, time.Hour
	for deadline := time.Now().Add(time.Minute); (best > 7*time.Millisecond || bestLast > 46*time.Millisecond) &&
		time.Now().Before(deadline); {
		begin := time.Now()
		c, in := v.dial(`{"prompt":[1],"max_tokens":20,"stream":true}`)
		_, err := in.ReadString('}')
		require.NoError(t, err)
		first := time.Since(begin)
		for {
			line, err := in.ReadString('\n')
			require.NoError(t, err)
			if line == "data: [DONE]\n" {
				break
			}
		}
		last := time.Since(begin)
		require.GreaterOrEqual(t, first, 5*time.Millisecond)
		require.GreaterOrEqual(t, last, 43*time.Millisecond)
		best, bestLast = min(best, first), min(bestLast, last)
		require.NoError(t, c.Close())
	}
	t.Logf("best first token %v, best last token %v, mean lateness %v, worst %v", best, bestLast, v.Stats().MeanLateness,
		v.Stats().WorstLateness)
	require.LessOrEqual(t, best, 7*time.Millisecond)
	require.LessOrEqual(t, bestLast, 46*time.Millisecond)
}

func TestSlowReaderDoesNotDelayOthers(t *testing.T) {
	v := serve(t, func(c *Config) { c.OutputTokens = 100000 })
	lazy, in := v.dial(`{"prompt":[1],"max_tokens":100000,"stream":true}`)
	require.Eventually(t, func() bool { return v.Stats().Running == 1 || v.Stats().Served == 1 }, time.Minute,
		time.Millisecond)
	v.mustPost("/v1/completions", `{"prompt":[2],"max_tokens":5}`)
	require.Eventually(t, func() bool { return v.Stats().Served == 2 }, time.Minute, time.Millisecond,
		"the engine is done before the reader")
	_, err := io.WriteString(lazy, "GET /health HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	all, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Contains(t, string(all[len(all)-300:]), "[DONE]\n\n\r\n0\r\n\r\nHTTP/1.1 200 OK",
		"the next answer follows the whole stream")
}
