package check

import (
	"context"
	"path"
	"strings"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// result holds the files of a scenario folder while rules are applied to it.
type result struct {
	dir          string // the folder
	performance  *detail
	accuracy     *detail
	otherClient  bool      // whether both logs are absent, so that the result is another client's
	scores       *scores   // accuracy.txt
	measurements *document // measurements.json
	measured     string    // folder of measurements, user.conf and README.md
	src          string
	metric       metric
	test06       []compliance.Finding // findings about the log of TEST06; nil: not read yet
}

// place returns the locations of a scenario's files in the round's layout.
func (s *scope) place() layout.Scenario {
	at := layout.Submitter{Division: s.division(), Name: s.at(submitterLevel).name}
	return layout.Scenario{Submitter: at, Round: s.round, SystemID: s.at(systemLevel).name,
		Benchmark: s.at(benchmarkLevel).name, Name: s.name}
}

// load reads a scenario folder.
func (c *checker) load(ctx context.Context, s *scope) *result {
	r := &result{
		dir:         s.path,
		performance: c.readDetail(ctx, path.Join(s.path, layout.PerformanceRun, mllog.DetailName)),
		accuracy:    c.readDetail(ctx, path.Join(s.path, layout.Accuracy, mllog.DetailName)),
		measured:    s.place().Measured(),
		src:         path.Join(s.at(submitterLevel).path, c.round.Layout.Code),
	}
	r.measurements = c.readDocument(c.measurementsFile(s, r.measured))
	if r.performance.absent && r.accuracy.absent {
		r.otherClient = true
		c.readOtherClient(s.path, r)
	} else {
		r.scores = c.readScores(path.Join(s.path, layout.Accuracy, layout.ScoreFile), s)
	}
	if b := s.model(); b != nil && r.performance.usable() {
		r.metric = s.measure(r.performance, b)
	}
	return r
}

// measurementsFile returns the path of measurements.json. If the round has a separate folder for it, that is the first
// JSON file named after the system.
func (c *checker) measurementsFile(s *scope, dir string) string {
	if c.round.Layout.Measurements == "" {
		return path.Join(dir, layout.MeasurementsName)
	}
	system := s.at(systemLevel).name
	for _, name := range c.files.list(dir).plain {
		if strings.HasPrefix(name, system) && strings.HasSuffix(name, ".json") {
			return path.Join(dir, name)
		}
	}
	return path.Join(dir, system+".json")
}
