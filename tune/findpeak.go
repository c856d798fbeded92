package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/run/study"
)

// The file of a search by LoadGen, and its form (docs/reference/loadgen.md#find-peak).
const (
	PeakName   = "find-peak.json"
	PeakSchema = "mlperf-go/find-peak/1"
)

// peakKind is the kind of a search's folder. Readers of runs do not accept it as a run.
const peakKind = "find-peak"

// PeakReason is why the result of a search by LoadGen cannot be submitted.
const PeakReason = "find-peak: LoadGen's FindPeakPerformance requires of its tests neither the minimum duration, nor " +
	"the minimum of queries, nor early stopping"

// Peak is find-peak.json.
type Peak struct {
	Schema     string           `json:"schema"`
	Kind       string           `json:"kind"` // always "find-peak"
	Rehearsal  bool             `json:"rehearsal"`
	Reasons    []string         `json:"rehearsal_reasons"`
	Model      string           `json:"model"`
	Scenario   string           `json:"scenario"`
	Settings   []string         `json:"settings"` // of the search, as flags
	LowerQPS   float64          `json:"lower_bound_qps"`
	Percentile float64          `json:"percentile"`
	Limits     []Limit          `json:"limits"`
	Test       time.Duration    `json:"test_ns"`     // shortest length of each test
	Queries    int              `json:"min_queries"` // of each test
	Started    time.Time        `json:"started"`
	TookS      float64          `json:"took_s"`
	Tests      []mllog.PeakTest `json:"tests"`
	Result     *PeakResult      `json:"result"` // null while the search goes on
}

// PeakResult is what a search by LoadGen found.
type PeakResult struct {
	FoundQPS float64 `json:"found_qps"` // 0: the search did not reach its end
	Low      float64 `json:"low"`       // the highest rate that met the limits
	High     float64 `json:"high"`      // the lowest rate that did not; 0: none
	Why      string  `json:"why,omitempty"`
	// LoadGenValid is LoadGen's verdict on its test at the rate that it found; null: it logged none.
	LoadGenValid *bool `json:"loadgen_valid"`
}

// peakFile is find-peak.json.
var peakFile = statefile.File[Peak]{Name: PeakName, Of: "search by LoadGen", Schema: PeakSchema,
	SchemaOf: func(s *Peak) string { return s.Schema }, Check: (*Peak).check}

// ReadPeak reads a folder's find-peak.json. Without one, the error is statefile.ErrNone.
func ReadPeak(folder string) (*Peak, error) { return peakFile.Read(folder) }

func (s *Peak) check() error {
	if s.Test < 0 || s.Test > maxDuration || len(s.Limits) > maxLimits || !(s.TookS >= 0 && s.TookS < maxRate) {
		return errors.New("no search has such tests")
	}
	return nil
}

// FindPeak lets LoadGen search for the highest rate that meets the limits, in a separate process, which runs
// PeakProcess. The search starts at the plan's target rate, and ends with the budget at the latest. seen is called
// with the results so far.
func FindPeak(ctx context.Context, o Options, seen func(*mllog.Peak)) (*Peak, error) {
	if err := checkPeak(&o); err != nil {
		return nil, err
	}
	lock, err := child.Acquire(ctx, o.Folder, owner)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	if err := run.CheckFolder(o.Folder, "", false); err != nil {
		return nil, err
	}
	rehearsal, err := rehearse.Start(ctx, o.Plan, rehearse.Options{Folder: o.Folder})
	if err != nil {
		return nil, err
	}
	defer rehearsal.Stop()
	begun := time.Now()
	end, err := o.search(ctx, lock, seen)
	if err != nil {
		return nil, err
	}
	s, err := ReadPeak(o.Folder)
	if errors.Is(err, statefile.ErrNone) { // the search has not begun
		if cause := context.Cause(ctx); cause != nil {
			return nil, fmt.Errorf("the search was ended: %w", cause)
		}
		if time.Since(begun) >= o.Budget {
			return nil, &run.Error{Exit: run.ExitInvalid, Code: exit.CodeTune, Hint: "Give a longer --budget",
				Err: fmt.Errorf("the budget of %v was over before LoadGen began", o.Budget)}
		}
		return nil, &run.Error{Exit: end.Exit, Code: end.Code, Err: fmt.Errorf("the search failed: %s", end.Reason())}
	}
	if err != nil {
		return nil, err
	}
	return s, s.finish(ctx, &o, end)
}

// checkPeak rejects tests that LoadGen cannot search, or would search for ever.
func checkPeak(o *Options) error {
	p := o.Plan
	switch c := p.Config; {
	case p.Scenario.LoadGen != models.Server:
		return exit.Usage(exit.CodeScenario, "Give --scenario Server or Interactive; `mlperf-go tune` without --mode "+
			"also tunes Offline", "LoadGen's search for the peak supports only its Server scenario, not %s",
			p.Scenario.Scenario)
	case !c.IsSet("target-qps"):
		return exit.Usage(exit.CodeTargetQPS, "Give --target-qps, a rate that meets the limits with certainty",
			"LoadGen's search for the peak only goes up from the rate that it is given")
	case o.Budget <= 0:
		return exit.Usage(exit.CodeTune, "Give --budget, such as --budget 2h",
			"LoadGen's search for the peak has no bound: it doubles the rate for as long as the limits are met")
	case c.Has("audit-config"):
		return exit.Usage(exit.CodeAuditConfig, "Leave --audit-config out", "an audit configuration replaces the mode")
	case o.Resume:
		return exit.Usage(exit.CodeTuneState, "Choose another --output-dir", "LoadGen cannot continue a search")
	}
	return study.Reject(p, "a search for the peak", meaningless)
}

// errBudget is the cause of the end of a search's process.
var errBudget = errors.New("the budget is over")

// lookAtPeak is how often the log of a search is read.
const lookAtPeak = time.Second

// search runs the process of a search to its end or to that of the budget.
func (o *Options) search(ctx context.Context, lock *child.Lock, seen func(*mllog.Peak)) (child.Ended, error) {
	self, err := os.Executable()
	if err != nil {
		return child.Ended{}, err
	}
	args := slices.Concat([]string{"--json"}, o.Global, []string{"tune"}, child.Flags(o.Plan.Config, madeForPeak),
		[]string{"--mode=find-peak", "--output-dir=" + o.Folder, "--peak-process"})
	cmd := exec.Command(self, args...)
	cmd.Stderr, cmd.Env = o.Stderr, child.Environ(o.Plan.Config, o.Environ)
	bounded, cancel := context.WithTimeoutCause(ctx, o.Budget, errBudget)
	defer cancel()
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer crash.Catch()
		defer close(watched)
		tick := time.NewTicker(lookAtPeak)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if p, err := mllog.ReadPeak(filepath.Join(o.Folder, record.LogFolder)); err == nil {
					seen(p)
				}
			}
		}
	}()
	end, err := child.Run(bounded, cmd, lock, 0)
	close(over)
	<-watched
	return end, err
}

// madeForPeak are the settings that a search sets for its process. The target rate is the user's.
var madeForPeak = func() map[string]bool {
	of := maps.Clone(made)
	delete(of, "target-qps")
	return of
}()

// finish adds the results in LoadGen's log to the state, and writes it. An error means that the search ended neither by
// itself nor with its budget.
func (s *Peak) finish(ctx context.Context, o *Options, end child.Ended) error {
	found, err := mllog.ReadPeak(filepath.Join(o.Folder, record.LogFolder))
	if err != nil {
		found = &mllog.Peak{}
	}
	s.Tests, s.TookS = found.Tests, time.Since(s.Started).Seconds()
	s.Result = &PeakResult{}
	s.Result.Low, s.Result.High = found.Range()
	var failed error
	switch cause := context.Cause(ctx); {
	case cause != nil:
		s.Result.Why = cause.Error()
		failed = fmt.Errorf("the search was ended: %w", cause)
	case end.Exit == run.ExitValid && found.Found > 0:
		s.Result.FoundQPS = found.Found
		if logs, err := mllog.Summarize(filepath.Join(o.Folder, record.LogFolder)); err == nil {
			s.Result.LoadGenValid = logs.Valid
		}
	case end.Exit == run.ExitValid && found.Fails != "":
		s.Result.Why = fmt.Sprintf("the lower bound of %g QPS misses a limit, and LoadGen does not search below it: give a "+
			"lower --target-qps", s.LowerQPS)
	case time.Since(s.Started) >= o.Budget || end.Exit == run.ExitTerminate:
		s.Result.Why = fmt.Sprintf("the budget of %v is over", o.Budget)
	case end.Exit == run.ExitValid:
		s.Result.Why = "LoadGen ended its search without a result; its log is in the folder " + record.LogFolder
		failed = &run.Error{Exit: run.ExitInvalid, Code: exit.CodeTune,
			Err: fmt.Errorf("the search in %s failed: %s", o.Folder, s.Result.Why)}
	default:
		s.Result.Why = end.Reason()
		failed = &run.Error{Exit: end.Exit, Code: cmp.Or(end.Code, exit.CodeTune),
			Err: fmt.Errorf("the search in %s failed: %s", o.Folder, s.Result.Why)}
	}
	return errors.Join(failed, o.Plan.Access().WriteJSON(filepath.Join(o.Folder, PeakName), s))
}

// PeakProcess is the process of FindPeak: it writes what is searched, and runs LoadGen.
func PeakProcess(ctx context.Context, p *plan.Plan, folder string, observer run.Observer) error {
	if err := os.MkdirAll(folder, p.Access().Folder()); err != nil {
		return err
	}
	p.AddRehearsal(PeakReason)
	client, err := run.OpenProbes(ctx, run.FromPlan(p), observer, folder)
	if err != nil {
		return err
	}
	s := &Peak{Schema: PeakSchema, Kind: peakKind, Rehearsal: true, Reasons: append(slices.Clone(p.Rehearsal), PeakReason),
		Model: p.Row.Name, Scenario: string(p.Scenario.Scenario), Settings: child.Flags(p.Config, madeForPeak),
		LowerQPS: p.Config.Float("target-qps"), Started: time.Now(), Tests: []mllog.PeakTest{}}
	tails, percentile := client.Limits()
	for _, l := range tails {
		s.Limits = append(s.Limits, Limit{Metric(l.What), l.Limit})
	}
	_, s.Test, s.Queries, _ = client.Load()
	s.Percentile = percentile
	if len(s.Limits) == 0 {
		return errors.Join(noLimit(p), client.Close(), os.Remove(filepath.Join(folder, record.UserConfName)))
	}
	if err := p.Access().WriteJSON(filepath.Join(folder, PeakName), s); err != nil {
		return errors.Join(err, client.Close())
	}
	return client.FindPeak(ctx, folder)
}

// noLimit rejects a test that every rate would pass.
func noLimit(p *plan.Plan) error {
	return exit.Usage(exit.CodeLimit, "Give --ttft-limit D and --tpot-limit D",
		"%s %s has no latency limit, so that every rate would be valid", p.Row.Name, p.Scenario.Scenario)
}

// Print writes what the search showed as text.
func (s *Peak) Print(w io.Writer) {
	fmt.Fprintln(w, "test\trate\tlimits\tat")
	for i, t := range s.Tests {
		met := "not ended"
		if t.Met != nil {
			met = map[bool]string{true: "met", false: "missed"}[*t.Met]
		}
		fmt.Fprintf(w, "%d\t%.6g/s\t%s\t%v\n", i+1, t.Rate, met, time.Duration(t.StartS*1e9).Round(100*time.Millisecond))
	}
}
