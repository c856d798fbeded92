package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var flagOrigin = Origin{FromFlag, "--test"}

func TestRunSettingsAreConsistent(t *testing.T) {
	table := RunSettings()
	e := New(table)
	for i := range table {
		s := &table[i]
		require.NotEmpty(t, s.Usage, s.Name)
		require.NotEmpty(t, s.Group, s.Name)
		require.Equal(t, strings.ToLower(s.Name), s.Name)
		require.Equal(t, s.Kind == Enum, len(s.Enum) > 0, s.Name)
		require.True(t, !s.Ignored || s.Notice != "", "%s is ignored without a notice", s.Name)
		_ = e.Text(s.Name) // panics if the default cannot be parsed
		for spelling, means := range s.Values {
			require.Contains(t, s.Enum, means)
			require.NotContains(t, spelling, "_")
		}
		for _, a := range s.Aliases {
			if a.Value != "" {
				_, err := s.parse(a.Value)
				require.NoError(t, err, a.Name)
			}
		}
	}
}

// Every flag in the documented command line exists.
func TestRunSettingsHaveTheContractsFlags(t *testing.T) {
	const contract = `model scenario mode endpoint backend api dataset samples target-qps min-duration min-queries max-duration max-queries user-conf
audit-config concurrency max-errors max-tokens min-tokens temperature top-p top-k ttft-limit tpot-limit first-token-timeout token-timeout
drain-timeout request-timeout connect-timeout request-memory retries warmup no-warmup no-preflight-query no-request-log served-model lb output-dir
seed-override expected-latency api-key api-key-file insecure-skip-verify ca-file client-cert client-key http2 proxy server-coalesce-queries lg-model-name input-column
input-ids-column output-column resume force enable-trace fail-fast num-workers
api-server-url api-server-urls test-mode num-samples server-target-qps offline-async-concurrency endpoint-type model-category dataset-path
offline-back-to-back use-generic load_balance_strategy`
	for _, name := range strings.Fields(contract) {
		_, _, err := RunSettings().Find(name)
		require.NoError(t, err)
	}
}

func TestLayers(t *testing.T) {
	e := New(RunSettings())
	require.False(t, e.IsSet("retries"))
	require.True(t, e.Has("retries"))
	require.False(t, e.Has("target-qps"))
	require.Equal(t, "default", e.Origin("retries").String())
	require.Zero(t, e.Float("target-qps"))

	for layer := FromFlag; layer >= FromRegistry; layer-- {
		require.NoError(t, e.Set("retries", string('0'+rune(layer)), Origin{Layer: layer}))
	}
	require.Equal(t, int(FromFlag), e.Int("retries"))
	require.NoError(t, e.Set("retries", "9", Origin{FromFlag, "--retries"}))
	require.Equal(t, 9, e.Int("retries"), "the later one of a layer counts")
	require.Equal(t, "flag --retries", e.Origin("retries").String())
	require.Error(t, e.Set("retries", "x", Origin{Layer: FromFile}), "checked even where it does not count")
}

func TestSetParsesEveryKind(t *testing.T) {
	e := New(RunSettings())
	for name, text := range map[string]string{
		"endpoint": "http://a:1, http://b:2,", "samples": "512", "target-qps": "1.5e2", "min-duration": "90",
		"ttft-limit":     "450ms",
		"request-memory": "512MiB", "scenario": "single_stream", "api": "chat_completions", "lb": "Round_Robin",
		"server-coalesce-queries": "on", "top-k": "-1",
	} {
		require.NoError(t, e.Set(name, text, flagOrigin))
	}
	require.Equal(t, []string{"http://a:1", "http://b:2"}, e.Strings("endpoint"))
	require.Equal(t, 512, e.Int("samples"))
	require.Equal(t, 150.0, e.Float("target-qps"))
	require.Equal(t, 90*time.Second, e.Duration("min-duration"))
	require.Equal(t, 450*time.Millisecond, e.Duration("ttft-limit"))
	require.Equal(t, int64(512<<20), e.Bytes("request-memory"))
	require.Equal(t, "SingleStream", e.String("scenario"))
	require.Equal(t, "chat", e.String("api"))
	require.Equal(t, "round-robin", e.String("lb"))
	require.Equal(t, "1", e.String("server-coalesce-queries"))
	require.Equal(t, -1, e.Int("top-k"))
	for text, want := range map[string]int64{"7": 7, "2GiB": 2 << 30, "3 kB": 3000, "1tib": 1 << 40, "9B": 9} {
		got, err := parseBytes(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestSetRejects(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"target-qsp", "1", `flag --test: unknown setting "target-qsp"; did you mean target-qps?`},
		{"target-qps", "0", `flag --test: target-qps "0" must be above 0`},
		{"target-qps", "-1", `target-qps "-1" is below 0`},
		{"target-qps", "NaN", "is not a finite number"},
		{"target-qps", "1e999", "is not a finite number"},
		{"target-qps", "ten", "target-qps \"ten\" is not a number"},
		{"target-qps", "1,5", "is not a number: write a decimal point, as in 1.5"},
		{"target-qps", "1,500,000", "is not a number"},
		{"samples", "99999999999999999999", "does not fit into 64 bits"},
		{"samples", "0", "must be above 0"},
		{"samples", "1.5", "is not a whole number"},
		{"top-p", "1.5", "is above 1"},
		{"scenario", "Ofline", "is not one of Offline, Server, Interactive, SingleStream; did you mean Offline?"},
		{"min-duration", "1.5", "is not a duration: write 90s, 10m, 1.5h, 250ms, or whole seconds without a unit"},
		{"min-duration", "-5s", "is below 0"},
		{"min-duration", "99999999999999", "is longer than 292 years"},
		{"request-memory", "2XB", "is not a size"},
		{"request-memory", "9999999999999GiB", "is larger than any file"},
		{"resume", "maybe", "is neither true nor false"},
		{"no-warmup", "maybe", "is neither true nor false"},
		{"endpoint", " , ", "is an empty list"},
		{"dataset", "a\x00b", "contains a NUL byte"},
		{"api-key", "secret\x00", "flag --test: api-key *** contains a NUL byte"},
	} {
		require.ErrorContains(t, New(RunSettings()).Set(c.name, c.text, flagOrigin), c.want)
	}
}

func TestOldNames(t *testing.T) {
	e := New(RunSettings())
	for _, c := range [][2]string{
		{"api-server-url", "http://a:1"}, {"test-mode", "accuracy"}, {"num-samples", "10"}, {"server-target-qps", "2"},
		{"offline-async-concurrency", "64"}, {"endpoint-type", "chat_completions"}, {"dataset-path", "x.json"},
		{"use-generic", "true"}, {"num-workers", "8"}, {"num-workers", "9"}, {"offline-back-to-back", "true"},
		{"no-warmup", "true"}, {"no-request-log", "false"},
	} {
		require.NoError(t, e.Set(c[0], c[1], flagOrigin))
	}
	require.Equal(t, []string{"http://a:1"}, e.Strings("endpoint"))
	require.Equal(t, "accuracy", e.String("mode"))
	require.Equal(t, 10, e.Int("samples"))
	require.Equal(t, 2.0, e.Float("target-qps"))
	require.Equal(t, 64, e.Int("concurrency"))
	require.Equal(t, "chat", e.String("api"))
	require.Equal(t, "x.json", e.String("dataset"))
	require.Equal(t, "generic", e.String("model"))
	require.True(t, e.IsSet("warmup"))
	require.False(t, e.Bool("warmup"))
	require.True(t, e.Bool("request-log"))
	require.False(t, e.IsSet("num-workers"))
	require.Len(t, e.Notices(), 2)
}

func TestResolveModelCategory(t *testing.T) {
	rowOf := func(name string) (string, bool) {
		row, ok := map[string]string{"llama3.1-8b": "llama3.1-8b", "llama31_8b": "llama3.1-8b",
			"gpt-oss-120b": "gpt-oss-120b"}[name]
		return row, ok
	}
	for _, c := range []struct{ category, model, served, wantModel, wantServed, err string }{
		{model: "org/some-model", wantModel: "org/some-model"},
		{category: "llama31_8b", wantModel: "llama31_8b"},
		{category: "llama31_8b", model: "/models/llama", wantModel: "llama31_8b", wantServed: "/models/llama"},
		{category: "llama31_8b", model: "llama3.1-8b", wantModel: "llama31_8b"},
		{category: "llama31_8b", model: "/models/llama", served: "mine", wantModel: "llama31_8b", wantServed: "mine"},
		{category: "llama31_8b", model: "gpt-oss-120b",
			err: `flag --test names the benchmark "llama31_8b" and flag --test the benchmark "gpt-oss-120b": give one --model`},
		{category: "unknown", model: "org/m", wantModel: "unknown", wantServed: "org/m"},
	} {
		e := New(RunSettings())
		for name, text := range map[string]string{"model-category": c.category, "model": c.model, "served-model": c.served} {
			if text != "" {
				require.NoError(t, e.Set(name, text, flagOrigin))
			}
		}
		err := e.ResolveModelCategory(rowOf)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.wantModel, e.String("model"))
		require.Equal(t, c.wantServed, e.String("served-model"))
		require.False(t, e.IsSet("model-category"))
	}
}

func TestSetEnviron(t *testing.T) {
	e := New(RunSettings())
	err := e.SetEnviron([]string{"HOME=/x", "MLPERF_GO_TARGET_QPS=5", "MLPERF_GO_SAMPLES=", "MLPERF_GO_LOG_LEVEL=debug",
		"MLPERF_GO_API_KEY=k=v"}, "MLPERF_GO_LOG_LEVEL")
	require.NoError(t, err)
	require.Equal(t, 5.0, e.Float("target-qps"))
	require.Equal(t, "k=v", e.String("api-key"))
	require.Equal(t, "***", e.Text("api-key"))
	require.Equal(t, "environment MLPERF_GO_TARGET_QPS", e.Origin("target-qps").String())
	require.False(t, e.IsSet("samples"))
	require.EqualError(t, e.SetEnviron([]string{"MLPERF_GO_TARGET_QSP=5"}),
		`environment MLPERF_GO_TARGET_QSP: unknown setting "TARGET_QSP"; did you mean target-qps?`)
	s, _, err := RunSettings().Find("target-qps")
	require.NoError(t, err)
	require.Equal(t, "MLPERF_GO_TARGET_QPS", s.EnvName())
}

func TestGettersPanicOnUnknownNamesAndKinds(t *testing.T) {
	e := New(RunSettings())
	require.NoError(t, e.Set("samples", "1", flagOrigin))
	require.Panics(t, func() { e.String("samples") })
	require.Panics(t, func() { e.String("nothing") })
	require.Panics(t, func() { e.Int("num-samples") }, "an alias is no name")
	require.Panics(t, func() { New(Table{{Name: "a"}, {Name: "b", Aliases: []Alias{{Name: "a"}}}}) })
}

func TestLoadYAML(t *testing.T) {
	e := New(RunSettings())
	err := e.LoadYAML("run.yaml", strings.NewReader(`
# a run
model: llama3.1-8b
endpoint:
  - http://a:1
  - http://b:2
target_qps: 5.5
min-duration: 60
num-samples: 16   # the old name
resume: yes
`))
	require.NoError(t, err)
	require.Equal(t, []string{"http://a:1", "http://b:2"}, e.Strings("endpoint"))
	require.Equal(t, time.Minute, e.Duration("min-duration"))
	require.Equal(t, 16, e.Int("samples"))
	require.True(t, e.Bool("resume"))
	require.Equal(t, "config file run.yaml line 7", e.Origin("target-qps").String())
	require.NoError(t, e.LoadYAML("empty", strings.NewReader("# nothing\n")))
}

func TestLoadYAMLRejects(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"\ntarget-qsp: 5", `config file f line 2: unknown setting "target-qsp"; did you mean target-qps?`},
		{"samples: 5\nnum_samples: 6", "config file f line 2: samples is already set in line 1"},
		{"samples: none", `config file f line 1: samples "none" is not a whole number`},
		{"samples:", "samples has no value; remove the line to leave it unset"},
		{"samples: [1, 2]", "samples accepts one value, not a list"},
		{"samples: {a: 1}", "samples must be a plain value or a list, not a map or an alias"},
		{"endpoint: [[a]]", "endpoint has an item that is not a plain value"},
		{"endpoint: []", "endpoint is an empty list or has an empty item"},
		{"? [a]\n: 5", "the key is not a plain word"},
		{"- a\n- b", `config file f line 1: the file is not a map of "setting: value"`},
		{"just text", "the file is not a map"},
		{"samples: 5\n---\nsamples: 6", "more than one document"},
		{"samples: \"5", "config file f line 1 is not valid YAML: a quote opens here"},
		{"a: &x 5\nsamples: *x", `unknown setting "a"`},
		{strings.Repeat("#", largestFile+1), "is larger than 1048576 bytes"},
	} {
		e := New(RunSettings())
		require.ErrorContains(t, e.LoadYAML("f", strings.NewReader(c.text)), c.want)
		require.False(t, e.IsSet("samples"), "a file with a fault counts in no part: %s", c.text)
	}
	require.ErrorIs(t, New(RunSettings()).LoadYAMLFile(filepath.Join(t.TempDir(), "absent.yaml")), os.ErrNotExist)
}

func TestWriteYAML(t *testing.T) {
	e := New(Table{
		{Name: "model", Kind: String}, {Name: "endpoint", Kind: Strings}, {Name: "target-qps", Kind: Float},
		{Name: "api-key", Kind: String, Secret: true},
		{Name: "min-duration", Kind: Duration, Default: "10m"}, {Name: "unset", Kind: String},
	})
	require.NoError(t, e.Set("model", "yes", Origin{FromFlag, "--model"}))
	require.NoError(t, e.Set("endpoint", "http://a:1,http://b:2", Origin{FromEnvironment, "MLPERF_GO_ENDPOINT"}))
	require.NoError(t, e.Set("target-qps", "50", Origin{FromUserConf, "my\nfile line 3"}))
	require.NoError(t, e.Set("api-key", "very secret", flagOrigin))
	var out bytes.Buffer
	require.NoError(t, e.WriteYAML(&out))
	require.Equal(t, `model: yes # flag --model
# environment MLPERF_GO_ENDPOINT
endpoint:
  - http://a:1
  - http://b:2
target-qps: 50 # user.conf my file line 3
api-key: "***" # flag --test
min-duration: 10m # default
`, out.String())
	again := New(e.Table())
	require.NoError(t, again.LoadYAML("f", &out))
	require.Equal(t, e.Strings("endpoint"), again.Strings("endpoint"))
	require.Equal(t, "yes", again.String("model"))
	require.False(t, again.IsSet("api-key"))
}

// Every configuration is unchanged after writing and loading.
func TestYAMLRoundTrip(t *testing.T) {
	text := rapid.StringMatching(`[ -~é…\t\n#:'"-]{0,20}`)
	rapid.Check(t, func(t *rapid.T) {
		e := New(RunSettings())
		origin := Origin{FromFlag, text.Draw(t, "origin")}
		require.NoError(t, e.Set("dataset", text.Draw(t, "dataset"), origin))
		require.NoError(t, e.Set("target-qps", format(rapid.Float64Range(1e-300, 1e300).Draw(t, "qps")), origin))
		require.NoError(t, e.Set("min-duration", format(time.Duration(rapid.Int64Min(0).Draw(t, "min"))), origin))
		require.NoError(t, e.SetList("endpoint", rapid.SliceOfN(rapid.StringMatching(`[!-~]{1,20}`), 1, 4).Draw(t,
			"endpoint"), origin))
		var out bytes.Buffer
		require.NoError(t, e.WriteYAML(&out))
		again := New(RunSettings())
		if err := again.LoadYAML("f", bytes.NewReader(out.Bytes())); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		for _, name := range e.Table().Names() {
			if e.Text(name) != again.Text(name) {
				t.Fatalf("%s: %q became %q\n%s", name, e.Text(name), again.Text(name), out.String())
			}
		}
		require.Equal(t, e.Strings("endpoint"), again.Strings("endpoint"))
	})
}

func FuzzLoadYAML(f *testing.F) {
	f.Add("model: llama3.1-8b\nendpoint: [a, b]\nmin-duration: 10m\n")
	f.Add("a: &a [*a]\n---\n? x\n")
	f.Fuzz(func(t *testing.T, text string) {
		e := New(RunSettings())
		if e.LoadYAML("f", strings.NewReader(text)) != nil {
			return
		}
		var out bytes.Buffer
		if err := e.WriteYAML(&out); err != nil {
			t.Fatal(err)
		}
		again := New(RunSettings())
		if err := again.LoadYAML("f", bytes.NewReader(out.Bytes())); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		for _, name := range e.Table().Names() {
			if e.Text(name) != again.Text(name) {
				t.Fatalf("%s: %q became %q", name, e.Text(name), again.Text(name))
			}
		}
	})
}
