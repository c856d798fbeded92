package tune

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// recheck marks a valid confirming run of an earlier process as spoiled if its folder does not hold that run any more.
// Without a run that counts, the tune is not over, and confirms again.
func (t *tuner) recheck(s *State) {
	confirmed := false
	for i := range s.Probes {
		p := &s.Probes[i]
		if !p.counts() {
			continue
		}
		if err := t.holds(p); err != nil {
			p.Spoiled = "the run that confirmed the rate is lost: " + err.Error()
			t.Observer.Repeats(p.Spoiled)
			continue
		}
		confirmed = true
	}
	if !confirmed && s.Result != nil && s.Result.Confirmed {
		s.Result = nil
	}
}

// holds returns an error unless the folder of a confirming run holds it, VALID and with the logs of its test.
func (t *tuner) holds(p *Probe) error {
	if !filepath.IsLocal(p.Folder) {
		return fmt.Errorf("its folder %q is not below the tune's", p.Folder)
	}
	folder := filepath.Join(t.Folder, p.Folder)
	r, err := record.Read(folder)
	switch {
	case err != nil:
		return err
	case r.Verdict != record.Valid:
		return fmt.Errorf("the run in %s is %s", folder, r.Verdict)
	case r.Model != t.Plan.Row.Name || r.Scenario != string(t.Plan.Scenario.Scenario) ||
		r.Mode != string(models.Performance) || r.Audit():
		return fmt.Errorf("%s holds %s", folder, r.Test())
	}
	const rounding = 1e-4 // of LoadGen's log
	if target, _, ok := r.Rate(); ok && math.Abs(target-p.Rate) > rounding*p.Rate {
		return fmt.Errorf("the run in %s had %.6g queries per second instead of %.6g", folder, target, p.Rate)
	}
	return r.Intact(folder)
}

// counts reports whether a step is a valid confirming run.
func (p *Probe) counts() bool { return p.Kind == Confirm && p.Valid && p.Spoiled == "" }
