package tune

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Recheck marks each valid confirming run that the tune's folder does not hold any more as spoiled, and returns why. A
// result without a run that counts is not confirmed; the tune can be resumed, and confirms again.
func (s *State) Recheck(folder string) (lost []string) {
	confirmed := false
	for i := range s.Probes {
		p := &s.Probes[i]
		if !p.counts() {
			continue
		}
		if err := s.holds(folder, p); err != nil {
			p.Spoiled = "the run that confirmed the rate is lost: " + err.Error()
			lost = append(lost, p.Spoiled)
			continue
		}
		confirmed = true
	}
	if s.Result == nil || !s.Result.Confirmed || confirmed {
		return lost
	}
	if len(lost) == 0 {
		lost = append(lost, FileName+" has no valid run that confirmed the rate")
	}
	s.Result.Confirmed, s.Result.Why = false, lost[len(lost)-1]+" (tune --resume confirms again)"
	return lost
}

// holds returns an error unless the folder of a confirming run holds it, VALID and with the logs of its test.
func (s *State) holds(folder string, p *Probe) error {
	if !filepath.IsLocal(p.Folder) {
		return fmt.Errorf("its folder %q is not below the tune's", p.Folder)
	}
	folder = filepath.Join(folder, p.Folder)
	r, err := record.Read(folder)
	switch {
	case err != nil:
		return err
	case r.Verdict != record.Valid:
		return fmt.Errorf("the run in %s is %s", folder, r.Verdict)
	case r.Model != s.Model || r.Scenario != s.Scenario || r.Mode != string(models.Performance) || r.Audit():
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
