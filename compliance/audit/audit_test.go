package audit

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// settings returns those of a test with names and values in turn.
func settings(t *testing.T, more ...string) *config.Effective {
	t.Helper()
	e := config.New(config.RunSettings())
	all := append([]string{"scenario", "Offline", "endpoint", "http://127.0.0.1:1", "output-dir", t.TempDir()}, more...)
	for i := 0; i < len(all); i += 2 {
		require.NoError(t, e.Set(all[i], all[i+1], config.Origin{Layer: config.FromFlag}))
	}
	return e
}

func TestPrepare(t *testing.T) {
	for name, c := range map[string]struct {
		model, test string
		queries     int
		logged      int // number of samples that the audit issues and logs
		rows        int // size of the audit's own data set; 0: it has none
		scored      bool
		notes       int
	}{
		"required":                   {"llama3.1-8b", compliance.Test06, 0, 100, 0, false, 0},
		"rehearsal":                  {"llama3.1-8b", compliance.Test06, 7, 7, 0, false, 0},
		"with a data set of its own": {"gpt-oss-120b", compliance.Test07, 0, 512, 990, true, 0},
		"not required":               {"gpt-oss-120b", compliance.Test06, 0, 100, 0, false, 1},
	} {
		e := settings(t, "model", c.model)
		p, err := Prepare(e, Options{Name: c.test, Queries: c.queries})
		require.NoError(t, err, name)
		require.Equal(t, c.test, p.Plan.Audit, name)
		require.Equal(t, c.rows, p.Plan.AuditRows, name)
		require.Equal(t, c.logged, p.Input.Audit.Records, name)
		require.Equal(t, c.scored, p.IsScored(), name)
		require.Len(t, p.Notes, c.notes, name)
		require.Equal(t, p.Input.Audit.Config(), p.Plan.AuditText, name)
		require.Equal(t, filepath.Join(p.Plan.Folder(), record.AuditName), e.String("audit-config"), name)
		require.Equal(t, filepath.Join(p.Plan.Folder(), record.LogFolder), p.Input.Compliance, name)
		require.Equal(t, models.Offline, p.Input.Scenario, name)
		require.Equal(t, p.Plan.Row, p.Input.Row, name)
	}
}

func TestPrepareRejects(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		options  Options
		code     exit.Code
		text     string
	}{
		"accuracy": {[]string{"mode", "accuracy"}, Options{Name: compliance.Test06}, exit.CodeAuditConfig,
			"always measures performance"},
		"a configuration of the user": {[]string{"audit-config", "mine"}, Options{Name: compliance.Test06},
			exit.CodeAuditConfig, "an audit has its own audit.config"},
		"negative queries": {nil, Options{Name: compliance.Test06, Queries: -1}, exit.CodeRehearsal,
			"--rehearsal-queries -1 is not a number of queries"},
		"unknown audit": {nil, Options{Name: "TEST42"}, exit.CodeAudit, "TEST42"},
		"audit of another benchmark": {nil, Options{Name: compliance.Test07}, exit.CodeAudit,
			`TEST07 has no settings for the benchmark "llama3.1-8b"`},
		"no folder to compare with": {nil, Options{Name: compliance.Test04}, exit.CodeCompliance,
			"pass the folder of the performance run"},
		"missing data set": {[]string{"dataset", "no-such.json"}, Options{Name: compliance.Test06}, "", "no-such.json"},
	} {
		_, err := Prepare(settings(t, append([]string{"model", "llama3.1-8b"}, c.settings...)...), c.options)
		require.ErrorContains(t, err, c.text, name)
		if c.code != "" {
			require.Equal(t, c.code, exit.Classify(err).Code, name)
		}
	}
}

// The folder of the reference run is part of the verification.
func TestPrepareWithAReference(t *testing.T) {
	p, err := Prepare(settings(t, "model", "llama3.1-8b"),
		Options{Name: compliance.Test04, ReferencePerformance: "earlier"})
	require.NoError(t, err)
	require.Equal(t, "earlier", p.Input.ReferencePerformance)
}
