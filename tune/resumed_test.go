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
			top := t.TempDir()
			s := &State{Model: "generic", Scenario: "Server", Result: &Result{TargetQPS: 12.5, Confirmed: true}, Probes: []Probe{
				{Measured: Measured{Kind: Confirm, Valid: true, Rate: 11}, Spoiled: "lost before"},
				{Measured: Measured{Kind: Confirm, Rate: 14}, Folder: "confirm/2"},
				{Measured: Measured{Kind: Confirm, Valid: true, Rate: 12.5}, Folder: "confirm/3"}}}
			folder := filepath.Join(top, "confirm", "3")
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

			lost := s.Recheck(top)
			if why == "" {
				require.True(t, s.Result.Confirmed)
				require.Empty(t, lost)
				require.Empty(t, s.Probes[2].Spoiled)
				return
			}
			require.False(t, s.Result.Confirmed, "the tune goes on")
			require.Equal(t, []string{s.Probes[2].Spoiled}, lost)
			require.Equal(t, lost[0]+" (tune --resume confirms again)", s.Result.Why)
			require.Contains(t, lost[0], "the run that confirmed the rate is lost: ")
			require.Contains(t, lost[0], why)
			require.Equal(t, "lost before", s.Probes[0].Spoiled)
			require.Empty(t, s.Probes[1].Spoiled, "an INVALID run has entered the fit, and its folder is not needed")
		})
	}
}

// A result without the step that confirmed it is not believed, and an unconfirmed one stays for its readers.
func TestAResultWithoutItsRun(t *testing.T) {
	s := &State{Result: &Result{Confirmed: true}}
	require.Equal(t, []string{"tune.json has no valid run that confirmed the rate"}, s.Recheck(t.TempDir()))
	require.False(t, s.Result.Confirmed)
	s = &State{Result: &Result{Why: "the budget is over"}}
	require.Empty(t, s.Recheck(t.TempDir()))
	require.Equal(t, "the budget is over", s.Result.Why)
}
