package tune

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
)

// A tune is confirmed only while its folder holds the run that confirmed it.
func TestALostConfirmingRun(t *testing.T) {
	const log, target = "mlperf/mlperf_log_detail.txt", "effective_target_qps"
	type run = record.Record
	for why, harm := range map[string]func(folder string, r *run, p *Probe){
		"":                              func(string, *run, *Probe) {},
		"there is no folder":            func(folder string, _ *run, _ *Probe) { _ = os.RemoveAll(folder) },
		"is INVALID":                    func(_ string, r *run, _ *Probe) { r.Verdict = record.Invalid },
		"holds performance of llama2":   func(_ string, r *run, _ *Probe) { r.Model = "llama2-70b" },
		"performance of generic, Offli": func(_ string, r *run, _ *Probe) { r.Scenario = "Offline" },
		"holds accuracy of generic":     func(_ string, r *run, _ *Probe) { r.Mode = string(models.Accuracy) },
		"holds an audit of generic":     func(_ string, r *run, _ *Probe) { r.Files[record.AuditName] = "1" },
		"13 queries per second":         func(_ string, r *run, _ *Probe) { r.LoadGen.Result[target] = 13.0 },
		"cannot read a log of the run":  func(folder string, _ *run, _ *Probe) { _ = os.Remove(filepath.Join(folder, log)) },
		log + " was changed after":      func(_ string, r *run, _ *Probe) { r.Files[log] = "0" },
		"is not below the tune's":       func(_ string, _ *run, p *Probe) { p.Folder = "../elsewhere" },
	} {
		t.Run(why, func(t *testing.T) {
			tn, told := confirming(t, nil), repeats{}
			tn.Observer = &told
			s := &State{Result: &Result{TargetQPS: 12.5, Confirmed: true}, Probes: []Probe{
				{Measured: Measured{Kind: Confirm, Valid: true, Rate: 11}, Spoiled: "lost before"},
				{Measured: Measured{Kind: Confirm, Rate: 14}, Folder: "confirm/2"},
				{Measured: Measured{Kind: Confirm, Valid: true, Rate: 12.5}, Folder: "confirm/3"}}}
			folder := filepath.Join(tn.Folder, "confirm", "3")
			require.NoError(t, os.MkdirAll(filepath.Join(folder, "mlperf"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(folder, log), []byte("a log"), 0o600))
			sum, err := atomicfile.SHA256(filepath.Join(folder, log))
			require.NoError(t, err)
			r := runtest.Record("generic", models.Server, models.Performance)
			r.Verdict, r.Files = record.Valid, map[string]string{log: sum}
			r.LoadGen.Result = map[string]any{"effective_scenario": "Server", target: 12.50001}
			write := func() error { return atomicfile.Private.WriteJSON(filepath.Join(folder, record.FileName), r) }
			require.NoError(t, write())
			harm(folder, r, &s.Probes[2])
			if _, err := os.Stat(folder); err == nil {
				require.NoError(t, write())
			}

			tn.recheck(s)
			if why == "" {
				require.True(t, s.Result.Confirmed)
				require.Empty(t, told.whys)
				require.Empty(t, s.Probes[2].Spoiled)
				return
			}
			require.Nil(t, s.Result, "the tune goes on")
			require.Len(t, told.whys, 1)
			require.Equal(t, told.whys[0], s.Probes[2].Spoiled)
			require.Contains(t, told.whys[0], "the run that confirmed the rate is lost: ")
			require.Contains(t, told.whys[0], why)
			require.Equal(t, "lost before", s.Probes[0].Spoiled)
			require.Empty(t, s.Probes[1].Spoiled, "an INVALID run has entered the fit, and its folder is not needed")
		})
	}
}

// A result without the step that confirmed it is not believed, and an unconfirmed one stays for its readers.
func TestAResultWithoutItsRun(t *testing.T) {
	tn := confirming(t, nil)
	s := &State{Result: &Result{Confirmed: true}}
	tn.recheck(s)
	require.Nil(t, s.Result)
	s = &State{Result: &Result{Why: "the budget is over"}}
	tn.recheck(s)
	require.NotNil(t, s.Result)
}

// repeats is an observer that keeps the reasons for repeated steps.
type repeats struct {
	silent
	whys []string
}

func (r *repeats) Repeats(why string) { r.whys = append(r.whys, why) }
