package tree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// judge decides which runs of a campaign may be in a tree.
type judge struct {
	campaign  campaignFolder
	division  string
	round     *rounds.Round
	rehearsal bool     // rehearsals are accepted
	refusal   *Refusal // receives the problems
}

// objection is a reason to refuse a run. check returns the reason as text, or "" if it does not apply.
type objection struct {
	code  string
	check func(*judge, *test) string
}

// objections are checked in order for every run; only the first that applies is reported, since later ones may follow
// from it.
var objections = []objection{
	{"missing", (*judge).missing},
	{"probe", (*judge).probe},
	{"crashed", (*judge).crashed},
	{"verdict", (*judge).verdict},
	{"other_test", (*judge).otherTest},
	{"rehearsal", (*judge).rehearsed},
	{"breach", (*judge).breached},
	{"log_incomplete", (*judge).incomplete},
	{"log_altered", (*judge).altered},
	{"seeds", (*judge).wrongSeeds},
	{"round", (*judge).otherRound},
	{"score", (*judge).score},
	{"audit", (*judge).audit},
}

// all checks every run for objections, and compares the runs of a scenario with each other.
func (j *judge) all(ctx context.Context, scenarios []*scenario) error {
	for _, s := range scenarios {
		whole := true
		for _, t := range s.tests {
			if ctx.Err() != nil {
				return fmt.Errorf("build the tree of %s: %w", j.campaign.path, context.Cause(ctx))
			}
			for _, o := range objections {
				if reason := o.check(j, t); reason != "" {
					j.refusal.run(t.where(), o.code, "%s", reason)
					whole = false
					break
				}
			}
		}
		if whole {
			j.oneUserConf(s)
		}
	}
	return nil
}

// probe refuses the folder of a tune, a sweep or an experiment, or of one of its probes, by the file with its kind.
func (j *judge) probe(t *test) string {
	for _, name := range layout.ProbeFiles() {
		text, err := j.campaign.read(t, name)
		if err != nil {
			continue // the folder is readable, and lacks the file
		}
		var file struct{ Kind string }
		if json.Unmarshal(text, &file) != nil || file.Kind == "" {
			file.Kind = "unknown"
		}
		return fmt.Sprintf("its %s has the kind %q, so it is not a test; copy a run, such as that of a confirmed tune, "+
			"instead", name, file.Kind)
	}
	return ""
}

func (j *judge) missing(t *test) string {
	dir, err := atomicfile.FolderIn(j.campaign.root, t.where())
	if err == nil {
		err = dir.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && t.leaf.Audit():
		return fmt.Sprintf("round %s requires this audit, but it was not run", j.round.Name)
	case errors.Is(err, fs.ErrNotExist):
		return "it was not run"
	case err != nil:
		return err.Error()
	}
	return ""
}

func (j *judge) crashed(t *test) string {
	r, err := record.Read(t.folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "CRASHED: the folder has no " + record.FileName
	case err != nil:
		return err.Error()
	}
	t.record, t.rehearsal = r, r.Rehearsal
	return ""
}

func (j *judge) verdict(t *test) string {
	allowed := []record.Code{record.CodeNotScored} // it may have been scored later; see score
	if j.division == layout.Open {
		allowed = append(allowed, record.CodeAccuracyBelowTarget)
	}
	if t.record.ValidBut(allowed...) {
		return ""
	}
	parts := []string{string(t.record.Verdict)}
	for _, c := range t.record.Reasons {
		parts = append(parts, fmt.Sprintf("%s: %s", c.Code, c.Text))
	}
	return strings.Join(parts, "; ")
}

// otherTest rejects a folder that was moved or used for another test.
func (j *judge) otherTest(t *test) string {
	mode := models.Performance
	if t.leaf.Test == layout.Accuracy {
		mode = models.Accuracy
	}
	r := t.record
	if r.Model == t.leaf.Benchmark && r.Scenario == string(t.leaf.Scenario) && r.Mode == string(mode) &&
		r.Audit() == t.leaf.Audit() {
		return ""
	}
	return "its record is that of another test: " + r.Test()
}

func (j *judge) rehearsed(t *test) string {
	if !t.record.Rehearsal || j.rehearsal {
		return ""
	}
	return "it is a rehearsal: " + strings.Join(t.record.RehearsalReasons, "; ")
}

// breached rejects runs whose requests break the rules of the closed and network divisions.
func (j *judge) breached(t *test) string {
	if j.division == layout.Open || t.rehearsal {
		return ""
	}
	return strings.Join(record.BreachTexts(t.record.Breaches), "; ")
}

func (j *judge) incomplete(t *test) string {
	if t.record.LoadGen.Complete {
		return ""
	}
	return "LoadGen's logs are incomplete: " + strings.Join(t.record.LoadGen.Missing, "; ")
}

// logs returns the names of the logs of a run that belong in the tree.
func (t *test) logs() []string {
	names := []string{mllog.SummaryName, mllog.DetailName}
	if t.leaf.Test != layout.Performance {
		names = append(names, mllog.AccuracyName)
	}
	return names
}

// altered rejects logs and a user.conf that differ from those that the run wrote.
func (j *judge) altered(t *test) string {
	names := []string{record.UserConfName}
	for _, name := range t.logs() {
		names = append(names, record.LogFolder+"/"+name)
	}
	for _, name := range names {
		want, recorded := t.record.Files[name]
		sum, err := atomicfile.SHA256In(j.campaign.root, filepath.Join(t.where(), filepath.FromSlash(name)))
		switch {
		case err != nil:
			return err.Error()
		case !recorded:
			return fmt.Sprintf("its record has no hash of %s", name)
		case sum != want:
			return fmt.Sprintf("%s was changed after the run: its SHA-256 is %.16s..., but the record has %.16s...", name, sum,
				want)
		}
	}
	return ""
}

// wrongSeeds compares the seeds in the log with the round's. It does not use the record, because JSON readers may round
// its numbers.
func (j *judge) wrongSeeds(t *test) string {
	want := map[string]uint64{
		"effective_qsl_rng_seed": j.round.Seeds.QSL, "effective_sample_index_rng_seed": j.round.Seeds.SampleIndex,
		"effective_schedule_rng_seed": j.round.Seeds.Schedule,
	}
	networked := j.division != layout.Network
	var wrong []string
	f, err := atomicfile.OpenIn(j.campaign.root, filepath.Join(t.where(), record.LogFolder, mllog.DetailName))
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	_, err = mllog.ReadDetail(f, func(e *mllog.Entry) error {
		if seed, ok := want[e.Key]; ok {
			if e.Value.Text() != fmt.Sprint(seed) {
				wrong = append(wrong, fmt.Sprintf("%s is %.30s, but round %s requires %d",
					strings.TrimPrefix(e.Key, "effective_"), e.Value.Text(), j.round.Name, seed))
			}
			delete(want, e.Key)
		}
		networked = networked || e.Key == "sut_name" && strings.Contains(e.Value.Text(), plan.NetworkSUT)
		return nil
	})
	switch {
	case err != nil:
		return err.Error()
	case t.leaf.Test == layout.Accuracy: // the rules fix the seeds only of performance runs
		return ""
	case len(wrong) > 0:
		return strings.Join(wrong, "; ")
	case len(want) > 0:
		return "its log does not contain the seeds"
	case !networked:
		return fmt.Sprintf("the system's name in its log does not contain %q, as the network division requires: run with "+
			"--network-sut", plan.NetworkSUT)
	}
	return ""
}

// otherRound rejects a run whose verdict is based on the limits and targets of another round.
func (j *judge) otherRound(t *test) string {
	if r := t.record.Round; r != "" && r != j.round.Name {
		return fmt.Sprintf("it was run and judged under the rules of round %s, but the tree is for round %s", r, j.round.Name)
	}
	return ""
}

// scoreRecord is the file that the accuracy command writes beside accuracy.txt.
const scoreRecord = "accuracy.json"

// score rejects accuracy runs that were not scored, missed their target (except in open), or have a truncated log.
func (j *judge) score(t *test) string {
	if t.leaf.Test != layout.Accuracy {
		return ""
	}
	text, err := j.campaign.read(t, layout.ScoreFile)
	if err != nil {
		return fmt.Sprintf("it was not scored: %v; score it with `mlperf-go accuracy --log %s`", err, t.folder)
	}
	if layout.TruncationHash(text) != "" {
		return fmt.Sprintf("%s already has a hash: the log was truncated before the tree was built", layout.ScoreFile)
	}
	var r accuracy.Result
	text, err = j.campaign.read(t, scoreRecord)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("its score cannot be read: %v; score it with `mlperf-go accuracy --log %s`", err, t.folder)
	case j.division == layout.Open && r.Missing == 0 && len(r.Unclaimed) == 0 && len(r.Unscored) == 0 ||
		r.Reached(t.rehearsal):
		return ""
	}
	var short []string
	for _, m := range r.Short(t.rehearsal) {
		short = append(short, fmt.Sprintf("%s is %s", m.Name, m.Text))
	}
	switch {
	case len(r.Unclaimed) > 0:
		return "its score cannot be claimed: " + strings.Join(r.Unclaimed, "; ")
	case len(r.Unscored) > 0:
		return fmt.Sprintf("not every answer was scored: %d of the benchmark's parts were not", len(r.Unscored))
	}
	return "below the target: " + strings.Join(short, ", ") + "; the open division accepts it"
}

// audit rejects audits that were not verified, did not pass, or whose copies of the logs differ from the run's.
func (j *judge) audit(t *test) string {
	if !t.leaf.Audit() {
		return ""
	}
	v, err := j.audited(t)
	switch {
	case err != nil:
		return err.Error()
	case v.Test != t.leaf.Test:
		return "its verification is that of another audit: " + v.Test
	case !v.OK:
		return v.Why()
	}
	t.rehearsal = t.rehearsal || v.Rehearsal
	if v.Rehearsal && !j.rehearsal {
		return "its count of queries was scaled down for a rehearsal"
	}
	return j.copies(t)
}

func (j *judge) audited(t *test) (v compliance.Verdict, err error) {
	dir, err := atomicfile.FolderIn(j.campaign.root, filepath.Join(t.where(), layout.VerifyFolder))
	if err != nil {
		return v, fmt.Errorf("the audit was run, but not verified: %w", err)
	}
	defer dir.Close()
	return compliance.ReadVerdict(dir.Name())
}

func (j *judge) copies(t *test) string {
	found := false
	err := treefs.Walk(context.Background(), j.campaign.root, t.leaf.Verified(""), func(e treefs.Entry) error {
		switch {
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", e.Path)
		}
		found = true
		want, isLog := t.record.Files[record.LogFolder+"/"+e.Name()]
		if !isLog {
			return nil
		}
		if sum, err := atomicfile.SHA256In(e.Dir, e.Name()); err != nil || sum != want {
			return fmt.Errorf("%s differs from the log of the audit's run", e.Path)
		}
		return nil
	})
	switch {
	case err != nil:
		return err.Error()
	case !found:
		return "its verification has no files"
	}
	return ""
}

// oneUserConf requires the same user.conf for performance and accuracy, because the tree has only one per scenario.
func (j *judge) oneUserConf(s *scenario) {
	settings := func(name string) []string {
		text, err := j.campaign.read(s.test(name), record.UserConfName)
		if err != nil {
			return []string{err.Error()}
		}
		return slices.DeleteFunc(strings.Split(string(text), "\n"),
			func(l string) bool { return l == "" || strings.HasPrefix(l, "#") })
	}
	performance, accurate := settings(layout.Performance), settings(layout.Accuracy)
	for _, line := range accurate {
		if !slices.Contains(performance, line) {
			j.refusal.run(s.test(layout.Accuracy).where(), "user_conf",
				"it ran with %q, but the performance run did not: the tree has one user.conf for both", line)
			return
		}
	}
	if len(performance) != len(accurate) {
		j.refusal.run(s.test(layout.Accuracy).where(), "user_conf",
			"the performance run had %d settings in its user.conf and this one %d: the tree has one user.conf for both",
			len(performance), len(accurate))
	}
}
