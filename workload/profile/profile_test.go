package profile

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const chat = `schema: mlperf-go/profile/1
name: chat
seed: 7
api: {kind: chat, stream: true}
data:
  kind: synthetic
  input: {kind: normal, mean: 384, std_dev: 10, min: 256, max: 512}
  output: 64
load:
  stages:
  - {arrival: poisson, rate: 2, duration: 1m}
  - {arrival: closed, concurrency: 8, requests: 100, think_time: {kind: uniform, min: 1, max: 2}}
slo: {ttft: 500ms, tpot: 0.05}
`

func parse(text string) (*Profile, error) { return Parse("p.yaml", strings.NewReader(text)) }

func TestParse(t *testing.T) {
	p, err := parse(chat)
	require.NoError(t, err)
	require.Equal(t, "chat", p.API.Kind)
	require.True(t, p.API.IgnoreEOS, "an absent key keeps its default")
	require.Equal(t, FixedAt(64), p.Data.Output)
	require.Equal(t, Stage{Arrival: Poisson, Rate: 2, Duration: time.Minute}, p.Load.Stages[0])
	require.Equal(t, SLO{TTFT: 500 * time.Millisecond, TPOT: 50 * time.Millisecond}, p.SLO)

	text, err := p.Encode()
	require.NoError(t, err)
	again, err := Parse("p.yaml", bytes.NewReader(text))
	require.NoError(t, err, string(text))
	require.Equal(t, p, again)
}

func TestBadProfiles(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"kind: synthetic", "kind: random", "line 6: data.kind: data of kind random are token ids, and api.kind chat sends " +
			"texts; use kind synthetic, or api.kind completions"},
		{"rate: 2", "rates: 2", `profile p.yaml line 11: load.stages.0.rates: unknown key; did you mean rate?`},
		{"rate: 2", "rate: fast", `line 11: load.stages.0.rate: expected a number of at least 0, not "fast"`},
		{"rate: 2,", "", `line 11: load.stages.0: arrival poisson needs rate`},
		{"arrival: poisson", "arrival: poison",
			`expected one of constant, poisson, gamma, scattered, poisson-seconds, burst, closed, trace, sessions, ` +
				`not "poison"; did you mean poisson?`},
		{"concurrency: 8", "concurrency: 8, rate: 2", `load.stages.1.rate: arrival closed has no use for rate; remove it`},
		{"duration: 1m", "duration: -5", `expected seconds or a duration such as 90s, not "-5"`},
		{"kind: synthetic", "kind: sharegpt", `line 5: data.path: data of kind sharegpt needs path`},
		{"min: 256", "min: 600", `line 7: data.input: min 600 is above max 512`},
		{"think_time: {kind: uniform, min: 1, max: 2}", "think_time: 100ms",
			`think_time: "100ms" has a unit: write seconds as a number, such as 0.1`},
		{"output: 64", "output: many", `expected a number of at least 0, or a map with kind and mean, not "many"`},
		{"kind: chat, ", "kind: chat, kind: chat, ", "api.kind: already set in line 4"},
		{"stream: true", "stream: 1", `expected true or false, not "1"`},
		{"schema: mlperf-go/profile/1\n", "", `line 1: schema: the key is required (form of this file)`},
		{"schema: mlperf-go/profile/1", "schema: mlperf-go/profile/2", `expected one of mlperf-go/profile/1`},
		{"name: chat", "name: &x chat", "anchors and aliases are not supported"},
		{"arrival: poisson, rate: 2, duration: 1m", "arrival: sessions, concurrency: 1",
			"data of kind recorded and arrival sessions need each other"},
		{"kind: chat, ", `kind: chat, headers: {"a b": x}, `, `"a b" is not the name of an HTTP field`},
		{"kind: chat, ", `kind: chat, headers: {a: "x\r\nb: y"}, `, "the value contains a line break"},
		{"kind: chat, ", `kind: chat, headers: {Authorization: Bearer x}, `, "pass the key with --api-key"},
		{"kind: chat, ", `kind: chat, session_header: host, `, "api.session_header: the client sets this field by itself"},
		{"kind: chat, stream: true", "kind: embeddings", "api.stream: answers of API embeddings are never streamed"},
		{"kind: chat, stream: true", "kind: embeddings, stream: false",
			"data.output: answers of API embeddings have no tokens"},
		{"kind: chat, stream: true}\ndata:\n  kind: synthetic\n  input: {kind: normal, mean: 384, std_dev: 10, min: 256, " +
			"max: 512}\n  output: 64", "kind: rerank, stream: false}\ndata:\n  kind: random\n  input: 5",
			"slo: answers of API rerank have no tokens"},
		{"load:\n", "load:\n  leave: {share: 0.5}\n", "load.leave: no time at which clients leave"},
		{"load:\n", "load:\n  leave: {share: 2, tokens: 1}\n", "a number from 0 to 1"},
		{"load:\n", "load:\n  leave: {share: 1, after: {kind: uniform, max: 1}}\n",
			"load.leave.after: a smallest value (min) above 0 is needed"},
		{"load:\n", "export: {metrics: [tbt]}\nload:\n", "expected one of ttft, tpot, itl, e2el"},
		{"load:\n", "export: {percentiles: [50, 101]}\nload:\n", "expected a number from 0 to 100"},
		{"load:\n", "load:\n  slow: {share: 1, pause: 1, tokens_per_s: 1}\n", "load.slow: give either tokens_per_s or pause"},
	} {
		_, err := parse(strings.Replace(chat, c.old, c.new, 1))
		require.ErrorContains(t, err, c.want, c.new)
	}
	whole := strings.Replace(chat, "stream: true", "stream: false", 1)
	for keys, want := range map[string]string{
		"leave: {share: 1, tokens: 1}": "load.leave.tokens: answers come as a whole",
		"slow: {share: 1, pause: 1}":   "load.slow: answers come as a whole",
	} {
		_, err := parse(strings.Replace(whole, "load:\n", "load:\n  "+keys+"\n", 1))
		require.ErrorContains(t, err, want)
	}
	_, err := parse(strings.Repeat("[", 100))
	require.Error(t, err)
	_, err = Read(t.TempDir() + "/absent.yaml")
	require.ErrorContains(t, err, "mlperf-go bench list")
}

func FuzzParse(f *testing.F) {
	f.Add(chat)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parse(text)
		if err != nil {
			return
		}
		require.NoError(t, p.Validate())
		encoded, err := p.Encode()
		require.NoError(t, err)
		again, err := Parse("p.yaml", bytes.NewReader(encoded))
		require.NoError(t, err, string(encoded))
		require.Equal(t, p, again)
	})
}
