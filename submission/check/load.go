package check

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
)

// result is what was read of one scenario folder. It lives while the rules are asked.
type result struct {
	dir          string // the folder
	performance  *detail
	accuracy     *detail
	otherClient  bool      // both logs are absent: another client's result
	scores       *scores   // accuracy.txt
	measurements *document // how the model was made
	measured     string    // folder of measurements, user.conf and README.md
	src          string
	metric       metric
}

// The folders and files of a scenario folder.
const (
	runFolder = "performance/run_1"
	scoreFile = "accuracy.txt"
)

// layout says where a round keeps what is not in the scenario folder (spec/submission.md §1.3).
type layout struct {
	measured func(s *scope) string
	audits   func(s *scope, test string) string
	src      string
}

var layouts = map[string]layout{
	"v5.1": {
		measured: func(s *scope) string { return s.beside("measurements") },
		audits: func(s *scope, test string) string {
			if moved := []string{"TEST01", "TEST04", "TEST06"}; slices.Contains(moved, test) {
				return s.beside("compliance")
			}
			return s.path
		},
		src: "code",
	},
}

var currentLayout = layout{
	measured: func(s *scope) string { return s.path },
	audits:   func(s *scope, _ string) string { return s.path },
	src:      "src",
}

func (c *checker) layout() layout {
	if l, ok := layouts[c.round.Name]; ok {
		return l
	}
	return currentLayout
}

// beside gives the folder of the same system, benchmark and scenario below another folder of the submitter.
func (s *scope) beside(folder string) string {
	return path.Join(s.at(submitterLevel).path, folder, s.at(systemLevel).name, s.at(benchmarkLevel).name, s.name)
}

// load reads a scenario folder.
func (c *checker) load(ctx context.Context, s *scope) *result {
	r := &result{
		dir:         s.path,
		performance: c.readDetail(ctx, path.Join(s.path, runFolder, mllog.DetailName)),
		accuracy:    c.readDetail(ctx, path.Join(s.path, "accuracy", mllog.DetailName)),
		measured:    c.layout().measured(s),
		src:         path.Join(s.at(submitterLevel).path, c.layout().src),
	}
	r.measurements = c.readDocument(c.measurementsFile(s, r.measured))
	if r.performance.absent && r.accuracy.absent {
		r.otherClient = true
		c.readOtherClient(s.path, r)
	} else {
		r.scores = c.readScores(path.Join(s.path, "accuracy", scoreFile), s)
	}
	if b := s.model(); b != nil && r.performance.usable() {
		r.metric = s.measure(r.performance, b)
	}
	return r
}

// measurementsFile is measurements.json; in the older layout the first file of the system's name.
func (c *checker) measurementsFile(s *scope, dir string) string {
	if _, old := layouts[c.round.Name]; !old {
		return path.Join(dir, "measurements.json")
	}
	system := s.at(systemLevel).name
	for _, name := range c.files.list(dir).plain {
		if strings.HasPrefix(name, system) && strings.HasSuffix(name, ".json") {
			return path.Join(dir, name)
		}
	}
	return path.Join(dir, system+".json")
}
