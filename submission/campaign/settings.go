package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Settings are the settings of a step by name, as far as its result depends on them.
type Settings map[string]string

// Hash returns a short identifier of the settings.
func (s Settings) Hash() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(h, "%s=%s\n", name, s[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Names of entries that are not settings of a run.
const (
	keyDataset   = "dataset-sha256"
	keyEndpoints = "endpoints" // their number: an address does not identify the system behind it

	// KeyAudit is the number of queries that a rehearsal scales an audit to.
	KeyAudit = "audit-queries"
)

// irrelevant are settings on which no valid result depends: where files go, how long the client waits, secrets.
var irrelevant = map[string]bool{
	"output-dir": true, "resume": true, "force": true, "request-log": true, "shared-output": true, "max-errors": true,
	"fail-fast": true, "enable-trace": true, "metrics": true, "metrics-interval": true, "metrics-url": true,
	"live": true, "live-control": true, "serve-metrics": true, "percentiles": true, "trace-spans": true,
	"debug-mode": true, "host": true,
	"api-key": true, "api-key-file": true, "ca-file": true, "client-cert": true, "client-key": true,
	"insecure-skip-verify": true, "request-memory": true, "preflight-query": true,
	"request-timeout": true, "first-token-timeout": true, "token-timeout": true, "connect-timeout": true,
	"drain-timeout": true,
	"model":         true, "model-category": true, "scenario": true, "mode": true, // part of a step's name
	"rehearsal":    true,                                            // it changes other settings, which count
	"audit-config": true, "user-conf": true, "dataset-config": true, // their contents count, not the file's name
	"endpoint": true, "dataset": true, // replaced by keyEndpoints and keyDataset
	// replaced by the endpoints that they start
	"server-config": true, "server-dir": true, "model-path": true, "replicas": true, "gpus-per-replica": true,
	"python": true,
	// a score is a step of its own
	"score": true, "tokenizer": true, "tokenizer-revision": true, "fetch-tokenizer": true, "run-code": true,
	"code-tests": true, "code-service": true, "math-grader": true,
	// They set other settings, which count.
	"generation-config": true, "accuracy-max-tokens": true, "accuracy-min-tokens": true, "accuracy-temperature": true,
	"accuracy-top-p": true, "accuracy-top-k": true, "accuracy-seed": true,
}

// scenariosOf lists the settings that affect only some of LoadGen's scenarios.
var scenariosOf = map[string][]models.Scenario{
	"ttft-limit": {models.Server}, "tpot-limit": {models.Server}, "server-coalesce-queries": {models.Server},
	"concurrency": {models.Offline}, KeyExpectedLatency: {models.SingleStream},
}

// measured are settings that a test finds out itself if the user does not set them. A plan without them equals a run
// with them.
var measured = map[string]bool{KeyExpectedLatency: true, keyTargetQPS: true, "backend": true, "api": true}

// PlanSettings returns the settings of a bound plan, whose data set has the given SHA-256. FolderSettings returns the
// same settings for the run of the plan.
func PlanSettings(p *plan.Plan, sha256 string) Settings {
	s := of(p.Config, p.Scenario.LoadGen)
	s[keyDataset] = sha256
	return s
}

// FolderSettings reads the settings of a run's folder.
func FolderSettings(folder string, r *record.Record) (Settings, error) {
	c := config.New(config.RunSettings())
	if err := c.LoadYAMLFile(filepath.Join(folder, record.ConfigName)); err != nil {
		return nil, err
	}
	scenario := models.Scenario(r.Scenario)
	if scenario == models.Interactive {
		scenario = models.Server
	}
	s := of(c, scenario)
	s[keyDataset] = r.Dataset.SHA256
	return s, nil
}

func of(c *config.Effective, scenario models.Scenario) Settings {
	s := Settings{}
	for _, row := range c.Table() {
		if irrelevant[row.Name] || row.Ignored || row.Secret || !c.Has(row.Name) {
			continue
		}
		if only, some := scenariosOf[row.Name]; some && !slices.Contains(only, scenario) {
			continue
		}
		if row.Auto && c.Text(row.Name) == config.Auto {
			continue
		}
		s[row.Name] = c.Text(row.Name)
	}
	s[keyEndpoints] = strconv.Itoa(max(1, len(c.Strings("endpoint"))))
	return s
}

// Change is a setting that differs.
type Change struct {
	Name string `json:"name"`
	Was  string `json:"was"`
	Is   string `json:"is"`
}

func (c Change) String() string {
	value := func(s string) string {
		if s == "" {
			return "not set"
		}
		return s
	}
	return fmt.Sprintf("%s was %s and is %s", c.Name, value(c.Was), value(c.Is))
}

// changes lists the settings that differ, in the order of their names.
func changes(was, is Settings) []Change {
	var list []Change
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was[name] == is[name] || measured[name] && is[name] == "" {
			continue
		}
		if _, had := was[name]; !had && name == KeyAudit { // a folder does not contain it, so its absence is no change
			continue
		}
		list = append(list, Change{name, was[name], is[name]})
	}
	return list
}

func sentence(list []Change) string {
	var words []string
	for _, c := range list {
		words = append(words, c.String())
	}
	return strings.Join(words, "; ")
}

// Names of settings that a campaign can measure.
const (
	KeyExpectedLatency = "expected-latency" // by a SingleStream performance run
	keyTargetQPS       = "target-qps"       // from the Offline performance run of a rehearsal
)
