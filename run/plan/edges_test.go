package plan

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Only a performance test in Server needs a number of queries for early stopping, by its percentile.
func TestLeastQueriesOfATest(t *testing.T) {
	of := func(more ...string) int {
		return unbound(t, append([]string{"target-qps", "2", "endpoint", "http://a:1"}, more...)...).LeastQueries()
	}
	server := of("scenario", "Server")
	require.Positive(t, server)
	require.Positive(t, of("scenario", "Interactive"))
	require.Zero(t, of("scenario", "Offline"))
	require.Zero(t, of("scenario", "Server", "mode", "accuracy"))
	audit := file(t, "audit.config", "*.*.mode = 2\n")
	require.Zero(t, of("scenario", "Server", "audit-config", audit))
	require.Less(t, of("scenario", "Server", "latency-percentile", "0.9"), server)
}

// Which plans may have a latency limit.
func TestPlansWithALimit(t *testing.T) {
	conf := file(t, "user.conf", "")
	for _, c := range []struct {
		settings []string
		want     bool
	}{
		{[]string{"model", "generic"}, false}, {[]string{"model", "generic", "ttft-limit", "1s"}, true},
		{[]string{"model", "generic", "tpot-limit", "1s"}, true}, {[]string{"model", "generic", "user-conf", conf}, true},
		{[]string{"scenario", "Server"}, true},
	} {
		p := unbound(t, append([]string{"served-model", "m", "endpoint", "http://a:1"}, c.settings...)...)
		require.Equal(t, c.want, p.Limited(), "%v", c.settings)
	}
}

// The rate of a rehearsal is known from one that the user chose.
func TestTheRateOfARehearsal(t *testing.T) {
	own := Settings{"model": "llama3.1-8b", "scenario": "Server", "rehearsal": "true"}
	require.Contains(t, planned(t, 13368, own).RateOfRehearsal(), "rehearsal")
	own["target-qps"] = "50"
	require.Empty(t, planned(t, 13368, own).RateOfRehearsal())
}

// The setting rehearsal is true in every rehearsal. Its origin has the reasons, unless the user set it.
func TestRehearsalInTheEffectiveConfiguration(t *testing.T) {
	p := planned(t, 10, Settings{"model": "llama3.1-8b"})
	require.NotEmpty(t, p.Rehearsal)
	require.True(t, p.Effective().Bool("rehearsal"))
	require.Contains(t, p.Effective().Origin("rehearsal").String(), p.Rehearsal[0])
	p = planned(t, 10, Settings{"model": "llama3.1-8b", "rehearsal": "true"})
	require.Equal(t, p.Config.Origin("rehearsal"), p.Effective().Origin("rehearsal"))
	p.Config = unbound(t).Config
	p.Rehearsal = []string{"one reason"}
	require.True(t, p.Effective().Bool("rehearsal"))
	require.False(t, p.Config.Bool("rehearsal"), "the plan stays as it is")
	p.Rehearsal = nil
	require.False(t, p.Effective().Bool("rehearsal"))
}

// Files and profiles that no test can use are errors before anything starts.
func TestChecksOfPaths(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		settings []string
		code     exit.Code // none: it is valid
	}{
		{[]string{"profile-window", "1,2"}, ""},
		{[]string{"profile-window", "x"}, exit.CodeProfileWindow},
		{[]string{"profile-dir", folder}, exit.CodeProfileWindow},
		{[]string{"profile-start", "http://a:1/x"}, exit.CodeProfileWindow},
		{[]string{"profile-stop", "http://a:1/x"}, exit.CodeProfileWindow},
		{[]string{"profile-window", "1,2", "profile-start", "http://a:1/x"}, exit.CodeProfileWindow},
		{[]string{"profile-window", "1,2", "profile-stop", "http://a:1/x"}, exit.CodeProfileWindow},
		{[]string{"profile-window", "1,2", "profile-start", "http://a:1/x", "profile-stop", "http://a:1/y"}, ""},
		{[]string{"trace-spans", filepath.Join(folder, "none", "x")}, exit.CodeTraceSpans},
		{[]string{"trace-spans", filepath.Join(folder, "x")}, ""},
	} {
		s := Settings{"model": "llama3.1-8b"}
		for i := 0; i < len(c.settings); i += 2 {
			s[c.settings[i]] = c.settings[i+1]
		}
		_, err := New(s)
		if c.code == "" {
			require.NoError(t, err, "%v", c.settings)
			continue
		}
		require.Error(t, err, "%v", c.settings)
		require.Equal(t, c.code, exit.Classify(err).Code, "%v", c.settings)
	}
}

// A configuration that breaks off, or is malformed, at any place is an error.
func TestMalformedGenerationValues(t *testing.T) {
	const whole = `{"max_new_tokens": 5, "top_p": 0.5, "do_sample": [1]}`
	values, ignored, err := generationValues([]byte(whole))
	require.NoError(t, err)
	require.Len(t, values, 2)
	require.Equal(t, []string{"do_sample"}, ignored)
	for n := range len(whole) {
		_, _, err := generationValues([]byte(whole[:n]))
		require.Error(t, err, whole[:n])
	}
	for _, text := range []string{`{"top_p": 1 ]`, `{5: 1}`, `{"top_p": }`, `{,}`, `{"top_p" 1}`} {
		_, _, err := generationValues([]byte(text))
		require.ErrorContains(t, err, "JSON", text)
	}
}

// A file of at most so many bytes is read whole, and a larger one is an error.
func TestReadingAtMost(t *testing.T) {
	for length, whole := range map[int]bool{0: true, 1: true, 4: true, 5: true, 6: false, 50: false} {
		text, err := readAtMost(file(t, "f", strings.Repeat("x", length)), 5)
		require.Equal(t, whole, err == nil, "%d: %v", length, err)
		if whole {
			require.Len(t, text, length)
		}
	}
	_, err := readAtMost(t.TempDir(), 5)
	require.Error(t, err, "a folder")
	_, err = readAtMost("none", 5)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
