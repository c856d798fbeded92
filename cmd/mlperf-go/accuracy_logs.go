package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/run"
)

// What a score would not show: that the log is another one than the test left, or another test's. LoadGen's detail log
// beside it and the run's record, where they are there, tell.

// detailKeys of LoadGen's detail log.
const (
	detailMode    = "effective_test_mode"
	detailSamples = "qsl_reported_total_count"
)

// checkLogs refuses the log of a performance test, and one that was changed after its run.
func (s *scoring) checkLogs() error {
	refuse := func(code string, err error, hint string) error {
		return run.UsageError(code, hint, "%w", err)
	}
	if s.audit {
		return nil
	}
	if s.record != nil {
		want := s.record.Files[path.Join(run.LogFolder, mllog.AccuracyName)]
		if got, err := atomicfile.SHA256(s.log); err == nil && want != "" && got != want {
			return refuse("log", fmt.Errorf("%s is not the log that the run left: its SHA-256 is %s, and the record has %s",
				s.log, got, want), "Score a run before its log is truncated; a log that was changed has no score")
		}
	}
	return s.eachDetail(func(e *mllog.Entry) error {
		if mode := e.Value.Any(); e.Key == detailMode && mode != "AccuracyOnly" && mode != "SubmissionRun" {
			return refuse("log", fmt.Errorf("%s says that the test was %v, which asks no sample just once",
				filepath.Join(filepath.Dir(s.log), mllog.DetailName), mode), "Name the log of a test in accuracy mode")
		}
		return nil
	})
}

// checkCount refuses a data set of another size than the test had.
func (s *scoring) checkCount(samples int) error {
	if s.audit {
		return nil
	}
	return s.eachDetail(func(e *mllog.Entry) error {
		if had := fmt.Sprint(e.Value.Any()); e.Key == detailSamples && had != fmt.Sprint(samples) {
			return run.UsageError("dataset", "Give the test's own with --dataset",
				"%s is not the data set of the test: it has %d samples, and %s says %s", s.dataset, samples,
				filepath.Join(filepath.Dir(s.log), mllog.DetailName), had)
		}
		return nil
	})
}

// eachDetail reads the detail log beside the accuracy log; there may be none, or one that was cut off.
func (s *scoring) eachDetail(take func(*mllog.Entry) error) error {
	var refused *run.Error
	_, err := mllog.ReadDetailFile(filepath.Join(filepath.Dir(s.log), mllog.DetailName), take)
	if errors.As(err, &refused) {
		return refused
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
