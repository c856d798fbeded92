package run

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/metrics/scrape"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/servermetrics"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// inputs are the files and settings of a test.
type inputs struct {
	plan     *plan.Plan
	observer Observer
	driver   backends.Driver
	dataset  *datasets.Dataset
	config   *backends.Config
	keys     []uint64 // keys of the samples for the strategy hash; nil: use their indices
	settings loadgen.TestSettings
	audit    string // path of the audit configuration that LoadGen reads
	pre      *Preflight
	counter  *finder.Source // source of the tokenizer that counts answers without ids or a count; nil: no tokenizer
	requests requests
	notes    []string // notes for the record
}

// output is the folder of a run while the test writes it.
type output struct {
	folder    string
	created   []string    // the folders that the run created for its files, the deepest first
	claimed   bool        // the folder contains only files of this run
	lock      *folderLock // lock of the folder; nil: not claimed yet
	failures  *failures
	logFolder *os.File  // folder of LoadGen's logs; not closed, since LoadGen may write after an early end
	logs      *logWatch // watch of LoadGen's logs; nil: LoadGen was not started
	unsaved   error     // error of closing or writing something after the test
}

// evidence is what was observed of a test, from its start until its record is made.
type evidence struct {
	inputs
	ledger   *ledger.Ledger
	backends []backends.Backend // backends, one per shard
	joined   bool               // whether all backends have returned
	sampler  *hostinfo.Sampler
	clock    *hostinfo.ClockWatch
	started  time.Time
	thread   loadgen.ThreadInfo
	wakes    int
	full     int
	planned  []int64 // due times of a Server test's queries, in ns after the first; nil: not known
	live     *live
	ends     ends
	finishes finishes
	models   *modelWatch             // watch of the served models; nil: the test has not been built
	caches   []record.PrefixCache    // results of emptying prefix caches, by endpoint; nil: no cache was emptied
	lost     *record.LimitLost       // the limit that can no longer be met; nil: none
	ended    error                   // why the test ended early
	metrics  *servermetrics.Recorder // recorder of the servers' metrics; nil: metrics were not requested
	outside  bool                    // whether a signal or the caller's context ended the test
}

// keepDataset copies a synthetic data set from its temporary folder to the run's, for later scoring.
func (t *test) keepDataset() error {
	c := t.plan.Config
	if t.plan.Dataset != nil || c.Origin("dataset") != plan.SyntheticDataset {
		return nil
	}
	from, err := os.Open(c.String("dataset"))
	if err != nil {
		return fmt.Errorf("the synthetic data set is gone: %w", err)
	}
	defer from.Close()
	err = t.plan.Access().Write(t.path(record.DatasetName), func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
	if err != nil {
		return err
	}
	t.dataset.Path = t.path(record.DatasetName)
	return c.Set("dataset", t.dataset.Path, plan.SyntheticDataset)
}

func (o *output) path(name string) string { return filepath.Join(o.folder, name) }

// accuracyLog is the log with the answers.
func (o *output) accuracyLog() string {
	return filepath.Join(o.path(record.LogFolder), mllog.AccuracyName)
}

// writeInputs writes the configuration and the preflight, and lets LoadGen read its part.
func (t *test) writeInputs() error {
	p := t.plan
	if err := p.WriteUserConf(t.path(record.UserConfName)); err != nil {
		return err
	}
	if err := p.WriteConfig(t.path(record.ConfigName)); err != nil {
		return err
	}
	if err := t.plan.WriteJSON(t.path(record.PreflightName), t.pre); err != nil {
		return err
	}
	if err := t.writeEnvironment(); err != nil {
		return err
	}
	settings, err := p.TestSettings(t.path(record.UserConfName))
	if err != nil {
		return err
	}
	t.settings = settings
	var effective loadgen.TestSettings
	if effective, t.audit, err = p.AuditSettings(settings, t.folder); err != nil {
		return err
	}
	total, performance := len(t.dataset.Samples), t.performanceCount()
	if err := effective.Check(total, performance); err != nil {
		return exit.Usage(exit.CodeLoadGenSetting, "", "%w", err)
	}
	return nil
}

// findMetrics lists the pages of --metrics and --metrics-url, which implies --metrics. They are recorded in the file at
// path.
func (e *evidence) findMetrics(path string) error {
	c := e.plan.Config
	if !c.Bool("metrics") && len(c.Strings("metrics-url")) == 0 {
		return nil
	}
	targets, err := e.metricsPages()
	e.metrics = &servermetrics.Recorder{Access: e.plan.Access(), Path: path, Targets: targets,
		Interval: c.Duration("metrics-interval")}
	return err
}

func (in *inputs) metricsPages() ([]scrape.Target, error) {
	return servermetrics.Targets(in.config, in.plan.Config.Strings("metrics-url"), in.plan.Secrets)
}
