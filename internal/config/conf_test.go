package config

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseConfRejects(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{"*.Server.target_qps=5", `user.conf f line 1: "*.Server.target_qps=5" has no blanks around "=", and LoadGen silently ignores such a line: write "*.Server.target_qps = 5"`},
		{"*.Server.target_qps =5", `expected "=" followed by a blank, found "=5"`},
		{"*.Server.target_qps : 5", `expected "=", found ":"`},
		{"\n\n*.Server.target_qps = 5 # fast", `line 3: "*.Server.target_qps" has a comment after its value, which makes LoadGen drop the whole file: put the comment on its own line`},
		{"*.Server.target_qps = 5 6", `has more than one value ("5 6"), and LoadGen would use the last number`},
		{"*.Server.target_qps", "has no value, and LoadGen silently ignores such a line"},
		{"*.Server.target_qps =", `has no value after "="`},
		{"#note more", `LoadGen needs a blank after the "#" of a comment`},
		{"*.Server.target_qsp = 5", `unknown key "target_qsp"; LoadGen never reads it; did you mean target_qps?`},
		{"*.Offline.performance_sample_count = 5", "did you mean performance_sample_count_override?"},
		{"*.Sever.target_qps = 5", `unknown scenario "Sever"; LoadGen never reads the line; did you mean Server?`},
		{"*.server.target_qps = 5", "did you mean Server?"},
		{"llama3_1-8b.Interactive.target_qps = 5", "LoadGen has no scenario Interactive: use Server with the model's " +
			"-interactive key"},
		{"llama2_70b.Server.target_qps = 5", `LoadGen's mlperf.conf has no model key "llama2_70b", so LoadGen never uses the line; did you mean llama2-70b`},
		{"llama3.1-8b.Server.target_qps = 5", "did you mean llama3_1-8b"},
		{"target_qps = 5", `"target_qps" does not have the form model.scenario.key, so LoadGen never reads it; use "*" for every model or scenario`},
		{"*.*.qsl_rng_seed = 5", "LoadGen reads qsl_rng_seed only from its built-in mlperf.conf and ignores it here: " +
			"remove the line"},
		{"*.Offline.ttft_latency = 5", "LoadGen reads ttft_latency only for Server, not for Offline"},
		{"*.*.test07_accuracy_threshold = 5", "belongs in an audit.config"},
		{"*.*.test09_min_output_tokens = 5", "belongs in an audit.config"},
		{"*.*.test09_max_output_tokens = 5", "belongs in an audit.config"},
		{"#note = 1.2.3", `LoadGen needs a blank after the "#" of a comment`},
		{"#note = .", `LoadGen needs a blank after the "#" of a comment`},
		{"#note = 5 x", `LoadGen needs a blank after the "#" of a comment`},
		{"*.*.min_query_count = 010", `*.*.min_query_count = "010" has a leading 0, which LoadGen reads as octal`},
		{"*.*.min_query_count = 5.9", "must be a whole number without sign; LoadGen would ignore the text after the digits"},
		{"*.*.min_query_count = 1e3", "must be a whole number without sign"},
		{"*.*.min_query_count = -1", "must be a whole number without sign"},
		{"*.*.min_query_count = 99999999999999999999", "does not fit into 64 bits"},
		{"*.*.min_query_count = many", "is not a whole number"},
		{"*.Server.target_latency = 0.5", "must be a whole number"},
		{"*.*.target_latency = 0", "would also set the expected latency of SingleStream to 0, and that test never ends"},
		{"*.Server.target_qps = 0", "must be above 0"},
		{"*.Server.target_qps = -3", "must be above 0"},
		{"*.Server.target_qps = inf", "is not a decimal number"},
		{"*.Server.target_qps = 0x10", "is not a decimal number"},
		{"*.Server.target_qps = 1_0", "is not a decimal number"},
		{"*.Server.target_latency_percentile = 100", "must be above 0 and below 100"},
		{"*.Server.max_async_queries = 4294967296", "is above 2147483647"},
		{"*.*.use_token_latencies = 2", "is above 1"},
		{"*.*.mode = 4", "is above 3"},
		{"*.*.min_duration = 5\n*.*.min_duration = 6",
			"line 2: *.*.min_duration is already set in line 1; LoadGen would silently use the later one"},
		{"*.*.min_duration = 5\x00", "NUL byte"},
		{strings.Repeat("#\n", largestFile), "is larger than 1048576 bytes"},
	} {
		_, err := ParseConf("f", strings.NewReader(c.text), UserConf)
		require.ErrorContains(t, err, c.want)
		require.Less(t, len(err.Error()), 600)
	}
}

// LoadGen ignores these lines, although no blank follows their comment sign.
func TestHarmlessGluedComments(t *testing.T) {
	for _, text := range []string{"#note", "#note # more", "#note = 5", "#note = 0x10", "#note = 1.5", "#note = 5.",
		"#note = 1 2"} {
		_, err := ParseConf("f", strings.NewReader(text), UserConf)
		require.NoError(t, err, text)
	}
}

func TestConfLookup(t *testing.T) {
	c, err := ParseConf("f", strings.NewReader("*.*.min_query_count = 4\ngptj.*.min_query_count = "+
		"3\n*.Server.min_query_count = 2\ngptj.Server.min_query_count = 1\n"), UserConf)
	require.NoError(t, err)
	for _, q := range []struct{ model, scenario, want string }{
		{"gptj", "Server", "1"}, {"bert", "Server", "2"}, {"gptj", "Offline", "3"}, {"bert", "Offline", "4"},
	} {
		e, ok := c.Lookup(q.model, q.scenario, "min_query_count")
		require.True(t, ok)
		require.Equal(t, q.want, e.Text)
	}
	_, ok := c.Lookup("gptj", "Server", "max_query_count")
	require.False(t, ok)
	require.Len(t, c.Entries(), 4)
	require.Equal(t, Entry{2, "gptj", "*", "min_query_count", "3"}, c.Entries()[1])
}

func TestConfGate(t *testing.T) {
	c, err := ParseConf("f", strings.NewReader("qwen3-vl-235b-a22b.Server.ttft_latency = 500\n"), UserConf)
	require.NoError(t, err)
	_, err = c.Resolve("qwen3-vl-235b-a22b", "Server")
	require.EqualError(t, err, "user.conf f line 1: LoadGen skips qwen3-vl-235b-a22b.Server.ttft_latency unless "+
		"use_token_latencies is 1 for qwen3-vl-235b-a22b: set it in the file, or remove the line")
	got, err := c.Resolve("qwen3-vl-235b-a22b", "Server", keyTokenLatencies)
	require.NoError(t, err)
	require.Len(t, got, 1)
	got, err = c.Resolve("qwen3-vl-235b-a22b", "Offline")
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestAuditLinesWithAModelAreIgnored(t *testing.T) {
	c, err := ParseConf("a", strings.NewReader("*.*.mode = 2\nstable-diffusion-xl.Offline.min_query_count = 500\n"),
		AuditConf)
	require.NoError(t, err)
	got, err := c.Resolve("stable-diffusion-xl", "Offline")
	require.NoError(t, err)
	require.Equal(t, []Entry{{1, "*", "*", "mode", "2"}}, got)
	require.Len(t, c.Unmatched(), 1)
}

func TestApplyUserConf(t *testing.T) {
	c, err := ParseConf("my.conf", strings.NewReader(`# a comment
llama3_1-8b.Server.target_qps = 12.5
*.Server.min_duration = 600000
*.*.min_query_count = 0x40
*.Server.coalesce_queries = 1
*.Server.max_async_queries = 7
llama3_1-8b.Server.ttft_latency = 1500
*.Offline.target_qps = 99
*.*.mode = 1
`), UserConf)
	require.NoError(t, err)
	e := New(RunSettings())
	require.NoError(t, e.Set("target-qps", "3", Origin{FromFile, "run.yaml line 1"}))
	require.NoError(t, e.Set("min-queries", "5", Origin{FromFlag, "--min-queries"}))
	rest, err := e.ApplyUserConf(c, "llama3_1-8b", "Server", keyTokenLatencies)
	require.NoError(t, err)
	require.Equal(t, []KV{{"max_async_queries", "7"}}, rest)
	require.Equal(t, 12.5, e.Float("target-qps"))
	require.Equal(t, "user.conf my.conf line 2", e.Origin("target-qps").String())
	require.Equal(t, 10*time.Minute, e.Duration("min-duration"))
	require.Equal(t, 5, e.Int("min-queries"))
	require.Equal(t, 1500*time.Millisecond, e.Duration("ttft-limit"))
	require.Equal(t, "1", e.String("server-coalesce-queries"))
	require.Equal(t, "accuracy", e.String("mode"))

	kvs, err := e.UserConf("Server", append(rest, KV{"min_query_count", "1"}))
	require.NoError(t, err)
	require.Equal(t, []KV{{"target_qps", "12.5"}, {"min_duration", "600000"}, {"min_query_count", "5"},
		{"ttft_latency", "1500"}, {"coalesce_queries", "1"}, {"max_async_queries", "7"}}, kvs)
	kvs, err = e.UserConf("Offline", nil)
	require.NoError(t, err)
	require.Equal(t, []KV{{"target_qps", "12.5"}, {"min_duration", "600000"}, {"min_query_count", "5"}}, kvs)
}

// LoadGen treats every number except 0 as true; numbers that are probably mistakes are rejected.
func TestCoalesceQueries(t *testing.T) {
	for text, want := range map[string]string{"0": "0", "1": "1", "2": "2", "0x2": "2"} {
		c, err := ParseConf("f", strings.NewReader("*.Server.coalesce_queries = "+text+"\n"), UserConf)
		require.NoError(t, err)
		e := New(RunSettings())
		rest, err := e.ApplyUserConf(c, "gptj", "Server")
		require.NoError(t, err)
		require.Empty(t, rest)
		kvs, err := e.UserConf("Server", nil)
		require.NoError(t, err)
		require.Equal(t, []KV{{"coalesce_queries", want}}, kvs)
	}
	_, err := ParseConf("f", strings.NewReader("*.Server.coalesce_queries = 3\n"), UserConf)
	require.ErrorContains(t, err, "is above 2")
	for text, want := range map[string]string{"false": "0", "No": "0", "off": "0", "TRUE": "1", "yes": "1", "on": "1",
		"2": "2"} {
		e := New(RunSettings())
		require.NoError(t, e.Set("server-coalesce-queries", text, Origin{FromFlag, "test"}))
		require.Equal(t, want, e.String("server-coalesce-queries"))
	}
	require.ErrorContains(t, New(RunSettings()).Set("server-coalesce-queries", "3", Origin{FromFlag, "test"}),
		"is not one of 0, 1, 2")
}

func TestApplyUserConfRejectsUnsupportedModes(t *testing.T) {
	c, err := ParseConf("f", strings.NewReader("*.*.mode = 3\n"), UserConf)
	require.NoError(t, err)
	_, err = New(RunSettings()).ApplyUserConf(c, "gptj", "Server")
	require.EqualError(t, err, "user.conf f line 1: *.*.mode = 3 selects a mode that cannot be run as one "+
		"test: remove the line and use --mode performance, accuracy or submission")
}

func TestSingleStreamLatency(t *testing.T) {
	c, err := ParseConf("f", strings.NewReader("*.SingleStream.target_latency = 2.5\n*.Server.target_latency = 30\n"),
		UserConf)
	require.NoError(t, err)
	e := New(RunSettings())
	_, err = e.ApplyUserConf(c, "llama3_1-8b-edge", "SingleStream")
	require.NoError(t, err)
	require.Equal(t, 2500*time.Microsecond, e.Duration("expected-latency"))
	kvs, err := e.UserConf("SingleStream", nil)
	require.NoError(t, err)
	require.Equal(t, []KV{{"target_latency", "2.5"}}, kvs)

	rest, err := New(RunSettings()).ApplyUserConf(c, "qwen3-vl-235b-a22b", "Server")
	require.NoError(t, err)
	require.Equal(t, []KV{{"target_latency", "30"}}, rest)
}

func TestUserConfRejectsFractionsThatLoadGenTruncates(t *testing.T) {
	e := New(RunSettings())
	require.NoError(t, e.Set("tpot-limit", "1500us", Origin{FromFlag, "--tpot-limit"}))
	_, err := e.UserConf("Server", nil)
	require.EqualError(t, err, "--tpot-limit 1.5ms is not a whole number of milliseconds, as LoadGen "+
		"requires")
}

func TestWriteUserConf(t *testing.T) {
	var out bytes.Buffer
	err := WriteUserConf(&out, []string{"made by mlperf-go", "two\nlines", ""}, "llama3_1-8b", "Server",
		[]KV{{"target_qps", "0.1"}, {"min_duration", "10000"}})
	require.NoError(t, err)
	require.Equal(t, "# made by mlperf-go\n# two lines\n# \nllama3_1-8b.Server.target_qps = "+
		"0.1\nllama3_1-8b.Server.min_duration = 10000\n", out.String())

	out.Reset()
	err = WriteUserConf(&out, nil, "llama3_1-8b", "Server", []KV{{"target_qps", "0"}})
	require.ErrorContains(t, err, "must be above 0")
	require.Zero(t, out.Len())
	err = WriteUserConf(&out, nil, "two words", "Server", []KV{{"target_qps", "1"}})
	require.Error(t, err)
	err = WriteUserConf(failing{}, nil, "gptj", "Server", []KV{{"target_qps", "1"}})
	require.ErrorIs(t, err, errFull)
}

var errFull = errors.New("no space left")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// Settings written to a user.conf are read back unchanged.
func TestUserConfRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scenario := rapid.SampledFrom([]string{"Offline", "Server", "SingleStream"}).Draw(t, "scenario")
		e := New(RunSettings())
		from := Origin{FromFlag, "test"}
		put := func(name string, v value) {
			if rapid.Bool().Draw(t, name) {
				require.NoError(t, e.Set(name, format(v), from))
			}
		}
		duration := rapid.Int64Range(1, 1e10)
		put("target-qps", rapid.Float64Range(1e-300, 1e300).Draw(t, "qps"))
		put("min-duration", time.Duration(duration.Draw(t, "min"))*time.Millisecond)
		put("max-duration", time.Duration(duration.Draw(t, "max"))*time.Millisecond)
		put("min-queries", rapid.Int64Min(0).Draw(t, "queries"))
		put("ttft-limit", time.Duration(duration.Draw(t, "ttft"))*time.Millisecond)
		put("server-coalesce-queries", rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, "coalesce"))
		put("expected-latency", time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "expected")))

		kvs, err := e.UserConf(scenario, nil)
		require.NoError(t, err)
		var file bytes.Buffer
		require.NoError(t, WriteUserConf(&file, nil, "gptj", scenario, kvs))
		c, err := ParseConf("f", &file, UserConf)
		require.NoError(t, err)
		again := New(RunSettings())
		rest, err := again.ApplyUserConf(c, "gptj", scenario, keyTokenLatencies)
		require.NoError(t, err)
		require.Empty(t, rest)
		back, err := again.UserConf(scenario, nil)
		require.NoError(t, err)
		if diff := cmp.Diff(kvs, back); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzParseConf(f *testing.F) {
	f.Add("# c\n*.Server.target_qps = 5\r\n\tgptj.*.min_duration\t=\t0x10\n#x = 4\n", false)
	f.Add("*.*.mode = 2\n*.*.test07_accuracy_threshold = 60.698\n", true)
	f.Add("."+strings.Repeat("\xea", 3000)+" = 1\n", false)
	f.Fuzz(func(t *testing.T, text string, audit bool) {
		kind := UserConf
		if audit {
			kind = AuditConf
		}
		c, err := ParseConf("f", strings.NewReader(text), kind)
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		for _, e := range c.Entries() {
			got, ok := c.Lookup(e.Model, e.Scenario, e.Key)
			if !ok || got != e {
				t.Fatalf("line %d is not found again", e.Line)
			}
		}
		for _, s := range confScenarios {
			_, _ = New(RunSettings()).ApplyUserConf(c, "gptj", s, keyTokenLatencies, keyInferLatencies)
		}
	})
}
