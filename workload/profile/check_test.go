package profile

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keyed is an error about a key.
func keyed(key, format string, args ...any) error {
	return fmt.Errorf("%s: %w", key, fmt.Errorf(format, args...))
}

// requireKey requires an error about a key, or none for "".
func requireKey(t *testing.T, key string, err error, about any) {
	t.Helper()
	if key == "" {
		require.NoError(t, err, "%+v", about)
		return
	}
	require.ErrorContains(t, err, key+": ", "%+v", about)
}

func TestKindsOfAPI(t *testing.T) {
	for kind, want := range map[string][2]bool{"completions": {true, false}, "chat": {true, true},
		"messages": {true, true}, "responses": {true, true}, "embeddings": {}, "rerank": {}} {
		a := API{Kind: kind}
		require.Equal(t, want, [2]bool{a.Generates(), a.IsChat()}, kind)
	}
}

func TestChecksOfDistributions(t *testing.T) {
	for _, c := range []struct {
		d   Distribution
		key string
	}{
		{Distribution{Kind: "uniform", Min: 3, Max: 3}, ""},
		{Distribution{Kind: "uniform", Min: 4, Max: 3}, "x"},
		{Distribution{Kind: "uniform"}, "x"},
		{Distribution{Kind: "normal", Mean: 1, Min: 4}, ""},
		{Distribution{Kind: "normal", StdDev: 1}, "x"},
		{Distribution{Kind: "normal", StdDev: 1, Max: 1}, ""},
		{Distribution{Kind: "normal", StdDev: 1, Mean: 1}, ""},
		{Distribution{Kind: "fixed"}, ""},
		{Distribution{Kind: "lognormal", Max: 3}, "x"},
		{Distribution{Kind: "lognormal", Mean: 1, Max: 3}, ""},
	} {
		requireKey(t, c.key, c.d.check(keyed, "x"), c.d)
		low := c.d.Min > 0
		requireKey(t, map[bool]string{true: c.key, false: "x"}[low], named{"x", &c.d}.checkPositive(keyed), c.d)
		for i, d := range []Data{{Input: &c.d}, {Output: &c.d}, {Groups: &Groups{System: &c.d}},
			{Groups: &Groups{Question: &c.d}}, {Turns: &Turns{Count: &c.d}}, {Turns: &Turns{System: &c.d}},
			{Turns: &Turns{FirstInput: &c.d}}, {Turns: &Turns{ToolLatency: &c.d}}, {Images: &Images{Count: &c.d}}} {
			key := []string{"data.input", "data.output", "data.groups.system", "data.groups.question", "data.turns.count",
				"data.turns.system", "data.turns.first_input", "data.turns.tool_latency", "data.images.count"}[i]
			require.Equal(t, []named{{key, &c.d}}, d.distributions())
		}
	}
	requireKey(t, "", named{"x", nil}.checkPositive(keyed), nil)
	bad := &Distribution{Kind: "uniform"}
	images := &Data{Kind: Fixed, Text: "x", Images: &Images{Count: bad}}
	requireKey(t, "data.images.count", images.check(keyed, true), bad)
}

func TestChecksOfLoads(t *testing.T) {
	good, low := &Distribution{Kind: "fixed", Mean: 1, Min: 1, Max: 1}, &Distribution{Kind: "uniform", Max: 1}
	stages := []Stage{{Arrival: Burst, Requests: 1}}
	for _, c := range []struct {
		load Load
		key  string
	}{
		{Load{Stages: stages}, ""},
		{Load{Sweep: &Sweep{}}, ""},
		{Load{}, "load"},
		{Load{Stages: stages, Sweep: &Sweep{}}, "load"},
		{Load{Stages: []Stage{stages[0], {Arrival: Burst}}}, "load.stages.1"},
		{Load{Stages: stages, Warmup: Window{Share: .5}, Cooldown: Window{Share: .4}}, ""},
		{Load{Stages: stages, Warmup: Window{Share: .5}, Cooldown: Window{Share: .5}}, "load.warmup.share"},
		{Load{Stages: stages, Warmup: Window{Requests: 1}}, "load.warmup"},
		{Load{Stages: stages, Warmup: Window{Requests: 1, Share: .1}}, ""},
		{Load{Stages: []Stage{{Arrival: Constant, Rate: 1, Duration: 2}}, Warmup: Window{Duration: 2}}, "load.warmup"},
		{Load{Stages: []Stage{{Arrival: Constant, Rate: 1, Duration: 2}}, Warmup: Window{Duration: 1}}, ""},
		{Load{Stages: []Stage{{Arrival: Burst, Requests: 1, Warmup: true}}}, "load.stages"},
		{Load{Stages: []Stage{{Arrival: Burst, Requests: 1, Warmup: true}, {Arrival: Burst, Requests: 2}},
			Warmup: Window{Requests: 1}}, ""},
		{Load{Stages: stages, Breakers: []Breaker{{Consecutive: 1}, {Rate: .5, Window: time.Second}}}, ""},
		{Load{Stages: stages, Breakers: []Breaker{{Consecutive: 1}, {}}}, "load.breakers.1"},
		{Load{Stages: stages, Breakers: []Breaker{{Consecutive: 1, Rate: 1, Window: 1}}}, "load.breakers.0"},
		{Load{Stages: stages, Breakers: []Breaker{{Rate: 1}}}, "load.breakers.0"},
		{Load{Stages: stages, Leave: &Leave{}}, "load.leave"},
		{Load{Stages: stages, Leave: &Leave{Tokens: good}}, ""},
		{Load{Stages: stages, Leave: &Leave{After: good}}, ""},
		{Load{Stages: stages, Leave: &Leave{Tokens: low, After: good}}, "load.leave.tokens"},
		{Load{Stages: stages, Leave: &Leave{Tokens: good, After: low}}, "load.leave.after"},
		{Load{Stages: stages, Slow: &Slow{}}, "load.slow"},
		{Load{Stages: stages, Slow: &Slow{Rate: good, Pause: good}}, "load.slow"},
		{Load{Stages: stages, Slow: &Slow{Rate: good}}, ""},
		{Load{Stages: stages, Slow: &Slow{Rate: low}}, "load.slow.tokens_per_s"},
		{Load{Stages: stages, Slow: &Slow{Pause: low}}, "load.slow.pause"},
		{Load{Stages: stages, Saturation: &Saturation{}}, ""},
		{Load{Stages: stages, Saturation: &Saturation{Confidence: 1}}, "load.over_saturation.confidence"},
		{Load{Stages: []Stage{{Arrival: Burst, Requests: 1, Ramp: &Ramp{Over: 1}}}}, "load.stages.0.ramp"},
		{Load{Stages: []Stage{{Arrival: Burst, Requests: 1, Concurrency: 2, Ramp: &Ramp{}}}}, "load.stages.0.ramp"},
		{Load{Stages: []Stage{{Arrival: Burst, Requests: 1, Concurrency: 2, Ramp: &Ramp{Over: 1}}}}, ""},
	} {
		requireKey(t, c.key, c.load.check(keyed), c.load)
	}
}

// Each arrival rejects a stage without one of its needs, and one with a key that does not apply.
func TestChecksOfStages(t *testing.T) {
	set := map[string]func(*Stage){
		rateKey: func(s *Stage) { s.Rate = 1 }, timeKey: func(s *Stage) { s.Duration = 1 },
		countKey: func(s *Stage) { s.Requests = 1 }, usersKey: func(s *Stage) { s.Concurrency = 1 },
		shapeKey: func(s *Stage) { s.Burstiness = 1 }, thinkKey: func(s *Stage) { s.ThinkTime = FixedAt(1) },
		rampKey: func(s *Stage) { s.Ramp = &Ramp{Shape: "linear"} },
	}
	for arrival, c := range map[Arrival]struct{ needs, may []string }{
		Constant:       {[]string{rateKey, timeKey}, []string{countKey, rampKey, usersKey}},
		Poisson:        {[]string{rateKey, countKey}, []string{timeKey, rampKey, usersKey}},
		Gamma:          {[]string{rateKey, timeKey, shapeKey}, []string{countKey, rampKey, usersKey}},
		Scattered:      {[]string{rateKey, timeKey}, []string{usersKey}},
		PoissonSeconds: {[]string{rateKey, timeKey}, []string{usersKey}},
		Burst:          {[]string{countKey}, []string{usersKey}},
		Closed:         {[]string{usersKey, timeKey}, []string{countKey, thinkKey, rampKey}},
		Trace:          {nil, []string{timeKey, countKey, usersKey}},
		Sessions:       {[]string{usersKey}, []string{rateKey, countKey, timeKey}},
	} {
		made := func(keys ...string) *Stage {
			s := &Stage{Arrival: arrival}
			for _, key := range keys {
				set[key](s)
			}
			return s
		}
		all := append(append([]string{}, c.needs...), c.may...)
		requireKey(t, "", made(c.needs...).check(keyed, "s"), arrival)
		requireKey(t, "", made(all...).check(keyed, "s"), arrival)
		for i, need := range c.needs {
			rest := append(append([]string{}, c.needs[:i]...), c.needs[i+1:]...)
			requireKey(t, "s", made(rest...).check(keyed, "s"), need)
		}
		allowed := map[string]bool{}
		for _, key := range all {
			allowed[key] = true
		}
		for key := range set {
			if !allowed[key] {
				requireKey(t, "s."+key, made(append(c.needs[:len(c.needs):len(c.needs)], key)...).check(keyed, "s"), arrival)
			}
		}
	}
	stage := Stage{Arrival: Poisson, Rate: 1, Requests: 1, Ramp: &Ramp{Shape: "exponential"}}
	requireKey(t, "s.ramp.from", stage.check(keyed, "s"), stage)
	stage.Ramp.From = .1
	requireKey(t, "", stage.check(keyed, "s"), stage)
	stage = Stage{Arrival: Closed, Concurrency: 1, Requests: 1, ThinkTime: &Distribution{Kind: "uniform"}}
	requireKey(t, "s.think_time", stage.check(keyed, "s"), stage)
}

func TestChecksOfAPIs(t *testing.T) {
	for _, c := range []struct {
		api API
		key string
	}{
		{API{Kind: "chat"}, ""},
		{API{Kind: "chat", Adapters: []Adapter{{"a", .25}, {"b", .75}}}, ""},
		{API{Kind: "chat", Adapters: []Adapter{{"a", .25}, {"b", .5}}}, "api.adapters"},
		{API{Kind: "chat", Adapters: []Adapter{{"a", .75}, {"b", .5}}}, "api.adapters"},
		{API{Kind: "chat", Headers: map[string]string{"X-09azAZ!#$%&'*+.^_`|~": " ~"}}, ""},
		{API{Kind: "chat", Extra: map[string]any{"max_tokens": 5}}, "api.extra.max_tokens"},
		{API{Kind: "responses", Extra: map[string]any{"max_output_tokens": 5}}, "api.extra.max_output_tokens"},
		{API{Kind: "chat", Headers: map[string]string{"X": "\x1f"}}, "api.headers.X"},
		{API{Kind: "chat", Headers: map[string]string{"X": "\x7f"}}, "api.headers.X"},
		{API{Kind: "chat", Headers: map[string]string{"": "a"}}, "api.headers."},
		{API{Kind: "chat", Headers: map[string]string{"A:": "a"}}, "api.headers.A:"},
		{API{Kind: "chat", Headers: map[string]string{"A": "a", "HOST": "b"}}, "api.headers.HOST"},
		{API{Kind: "chat", SessionHeader: "a b"}, "api.session_header"},
		{API{Kind: "embeddings"}, ""},
		{API{Kind: "rerank", Stream: true}, "api.stream"},
	} {
		requireKey(t, c.key, c.api.check(keyed), c.api)
	}
}

// Answers that come as a whole have no first token whose time could grow.
func TestOverSaturationNeedsStreams(t *testing.T) {
	p := Defaults()
	p.Load.Saturation = &Saturation{}
	require.NoError(t, p.checkStreams(keyed))
	p.API.Stream = false
	requireKey(t, "load.over_saturation", p.checkStreams(keyed), p)
}

// Only rows of a file have a category.
func TestCategoriesNeedAFile(t *testing.T) {
	d := Data{Kind: Prompts, Path: "f.jsonl", Category: "qa"}
	require.NoError(t, d.check(keyed, true))
	d = Data{Kind: ShareGPT, Path: "f.json", Category: "qa"}
	requireKey(t, "data.category", d.check(keyed, true), d)
}

// Only data with turns can send them in turn, and only recorded chats have a longest length.
func TestKeysOfOneKindOfData(t *testing.T) {
	for _, c := range []struct {
		d   Data
		key string
	}{
		{Data{Turns: &Turns{}, Kind: Conversations, Rotate: true}, "data.input"},
		{Data{Groups: &Groups{MultiTurn: true}, Kind: SharedPrefix, Rotate: true, Output: FixedAt(1)}, ""},
		{Data{Groups: &Groups{}, Kind: SharedPrefix, Rotate: true, Output: FixedAt(1)}, "data.rotate"},
		{Data{Text: "a", Kind: Fixed, Rotate: true}, "data.rotate"},
		{Data{Text: "a", Kind: Fixed, MaxTotal: 1}, "data.max_total"},
		{Data{Path: "a", Kind: ShareGPT, MaxTotal: 1}, ""},
		{Data{Path: "a", Kind: Prompts, Format: "visionarena"}, "data.format"},
	} {
		requireKey(t, c.key, c.d.check(keyed, true), c.d)
	}
}
