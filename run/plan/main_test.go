package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// LoadGen reads its built-in configuration once per process. So the test binary starts itself again for each plan, and
// this variable contains the plan.
const jobVariable = "MLPERF_GO_PLAN_TEST"

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		os.Exit(child(text))
	}
	os.Exit(m.Run())
}

// job is a plan, by the settings of each layer.
type job struct {
	Settings Settings
	UserConf string // text; its file is made in Folder
	Audit    string // likewise
	Rows     int
	Folder   string
}

// settled contains LoadGen's settings for a plan, before and after the audit configuration.
type settled struct {
	Settings, Audited loadgen.TestSettings
	Official          loadgen.TestSettings // by the model's key and the built-in mlperf.conf alone
	Unlisted          loadgen.TestSettings // likewise, by a key that mlperf.conf does not have
	AuditPath         string
	Error             string
	Exit              int
}

func (j *job) plan() (*Plan, error) {
	c := config.New(config.RunSettings())
	for name, text := range j.Settings {
		if err := c.Set(name, text, config.Origin{Layer: config.FromFlag, Where: name}); err != nil {
			return nil, exit.Usage("setting", "", "%w", err)
		}
	}
	for setting, text := range map[string]string{"user-conf": j.UserConf, "audit-config": j.Audit} {
		if text == "" {
			continue
		}
		path := filepath.Join(j.Folder, setting)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
		if err := c.Set(setting, path, config.Origin{Layer: config.FromFlag, Where: setting}); err != nil {
			return nil, err
		}
	}
	p, err := Resolve(c)
	if err != nil {
		return nil, err
	}
	return p, p.Bind(j.Rows)
}

func (j *job) settle() (*settled, error) {
	p, err := j.plan()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(j.Folder, record.UserConfName)
	if err := p.WriteUserConf(path); err != nil {
		return nil, err
	}
	s := &settled{Official: builtIn(p, p.LoadGenModel()), Unlisted: builtIn(p, "unlisted")}
	if s.Settings, err = p.TestSettings(path); err != nil {
		return nil, err
	}
	if s.Audited, s.AuditPath, err = p.AuditSettings(s.Settings, j.Folder); err != nil {
		return nil, err
	}
	if err := s.Audited.Check(j.Rows, j.Rows); err != nil {
		return nil, err
	}
	return s, nil
}

// builtIn are the settings of the linked LoadGen's own mlperf.conf for a key.
func builtIn(p *Plan, key string) loadgen.TestSettings {
	s := loadgen.DefaultTestSettings()
	s.FromConfig("", key, string(p.Scenario.LoadGen), loadgen.ConfBuiltIn)
	return s
}

func child(text string) int {
	j := &job{}
	err := json.Unmarshal([]byte(text), j)
	if err == nil {
		var s *settled
		if s, err = j.settle(); err != nil {
			s = &settled{Error: err.Error(), Exit: exit.Classify(err).Exit}
		}
		err = json.NewEncoder(os.Stdout).Encode(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	return 0
}

// settle runs LoadGen in another process to find its settings for a plan.
func settle(t *testing.T, j job) *settled {
	t.Helper()
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	j.Folder = t.TempDir()
	text, err := json.Marshal(j)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	s := &settled{}
	require.NoError(t, json.Unmarshal(out, s))
	return s
}
