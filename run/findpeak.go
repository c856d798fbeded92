package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/sut"
)

// FindPeak runs LoadGen's FindPeakPerformance from the plan's target rate up. It writes LoadGen's logs into
// record.LogFolder below folder; mllog.ReadPeak reads what it found. The first failed query ends the search,
// because LoadGen treats an empty answer as a fast one. FindPeak closes the client. A process can call it once, and
// must exit after an error, because LoadGen may still be running.
func (c *ProbeClient) FindPeak(ctx context.Context, folder string) error {
	e := c.e
	logs := filepath.Join(folder, record.LogFolder)
	if err := makeOwnFolder(logs, e.plan.Access()); err != nil {
		return err
	}
	settings := e.settings
	settings.Mode = loadgen.FindPeakPerformance
	q := e.requests.library
	loaded := func([]int) error { return nil } // the client has built the requests of every sample
	e.ledger = ledger.New(len(e.backends), ledger.MaxResident)
	failed := make(chan string, 1)
	s, err := sut.New(peakOptions(e, failed))
	if err != nil {
		return err
	}
	library, err := loadgen.ConstructQSL(q.Name(), q.TotalSampleCount(), q.PerformanceSampleCount(), loaded, loaded,
		s.Stop)
	if err != nil {
		return err
	}
	clock, err := hostinfo.WatchClocks()
	if err != nil {
		return err
	}
	before := e.traffic()
	c.begin(e.ledger)
	s.Start(ctx)
	returned := make(chan error, 1)
	go func() {
		defer crash.Catch()
		_, err := loadgen.StartTest(s.LoadGen(), library, settings, loadgen.LogSettings{OutDir: logs, Prefix: logPrefix},
			filepath.Join(folder, "no-audit.config"))
		returned <- err
	}()
	if err := awaitPeak(ctx, s, returned, failed); err != nil {
		return err
	}
	loadgen.DestroyQSL(library)
	drift, err := clock.Stop()
	p := &Probe{Data: &ledger.Test{Entries: e.ledger.Entries(), Names: e.ledger.Names(), Origin: ledger.FromIssue}}
	p.Metrics = p.Data.Metrics()
	c.judge(p, nil, drift, before)
	if err = errors.Join(err, hideLogs(logs, e.plan.Access()), c.Close()); err == nil && len(p.Causes) > 0 {
		err = spoiledPeak(p.Causes[0].Text)
	}
	return err
}

// peakOptions are a run's, except that the first failure ends the test and is sent to failed.
func peakOptions(e *evidence, failed chan<- string) sut.Options {
	return sut.Options{
		Name: e.plan.SUTName(e.config.ServedModel), Backends: e.backends, Ledger: e.ledger, FirstTokens: e.plan.FirstTokens(),
		MaxErrors: 0, DrainTimeout: e.plan.Config.Duration("drain-timeout"),
		Failed: func(a backends.Attempt) {
			select {
			case failed <- fmt.Sprintf("; the first failure: %s: %s", a.Reason, a.Detail):
			default:
			}
		}}
}

// awaitPeak returns with StartTest, or with an error soon after the search was ended early.
func awaitPeak(ctx context.Context, s *sut.SUT, returned <-chan error, failed <-chan string) error {
	var err error
	select {
	case err = <-returned:
	case <-s.Stopped():
		time.Sleep(flushGrace) // of the log thread
	}
	switch cause := s.Cause(); {
	case context.Cause(ctx) != nil:
		return fmt.Errorf("the search was ended: %w", context.Cause(ctx))
	case cause != nil:
		first := ""
		select {
		case first = <-failed:
		default:
		}
		return spoiledPeak(cause.Error() + first)
	case err != nil:
		return err
	}
	return s.Wait()
}

func spoiledPeak(why string) error {
	return exit.Environment(exit.CodeProbeSpoiled, "Remove the cause, and search again", "the search was spoiled: %s", why)
}
