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
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// objection is a reason to refuse a run. check returns the reason as text, or "" if it does not apply.
type objection struct {
	code  string
	check func(*builder, *test) string
}

// objections are checked in order for every run; only the first that applies is reported, since later ones may follow
// from it.
var objections = []objection{
	{"missing", (*builder).missing},
	{"probe", (*builder).probe},
	{"crashed", (*builder).crashed},
	{"verdict", (*builder).verdict},
	{"other_test", (*builder).otherTest},
	{"rehearsal", (*builder).rehearsed},
	{"breach", (*builder).breached},
	{"log_incomplete", (*builder).incomplete},
	{"log_altered", (*builder).altered},
	{"seeds", (*builder).wrongSeeds},
	{"round", (*builder).otherRound},
	{"score", (*builder).score},
	{"audit", (*builder).audit},
}

// judge checks every run for objections, and compares the runs of a scenario with each other.
func (b *builder) judge(ctx context.Context) error {
	for _, s := range b.scenarios {
		whole := true
		for _, t := range s.tests {
			if ctx.Err() != nil {
				return fmt.Errorf("build the tree of %s: %w", b.o.Campaign, context.Cause(ctx))
			}
			for _, o := range objections {
				if reason := o.check(b, t); reason != "" {
					b.run(t.where(), o.code, "%s", reason)
					whole = false
					break
				}
			}
		}
		if whole {
			b.oneUserConf(s)
		}
	}
	return nil
}

// probe refuses the folder of a tune, a sweep or an experiment, or of one of its probes, by the file with its kind.
func (b *builder) probe(t *test) string {
	for _, name := range layout.ProbeFiles() {
		text, err := b.read(t, name)
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

func (b *builder) missing(t *test) string {
	dir, err := atomicfile.FolderIn(b.campaign, t.where())
	if err == nil {
		err = dir.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && t.leaf.Audit():
		return fmt.Sprintf("round %s requires this audit, but it was not run", b.round.Name)
	case errors.Is(err, fs.ErrNotExist):
		return "it was not run"
	case err != nil:
		return err.Error()
	}
	return ""
}

func (b *builder) crashed(t *test) string {
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

func (b *builder) verdict(t *test) string {
	allowed := []record.Code{record.CodeNotScored} // it may have been scored later; see score
	if b.o.Division == layout.Open {
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
func (b *builder) otherTest(t *test) string {
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

func (b *builder) rehearsed(t *test) string {
	if !t.record.Rehearsal || b.o.Rehearsal {
		return ""
	}
	return "it is a rehearsal: " + strings.Join(t.record.RehearsalReasons, "; ")
}

// breached rejects runs whose requests break the rules of the closed and network divisions.
func (b *builder) breached(t *test) string {
	if b.o.Division == layout.Open || t.rehearsal {
		return ""
	}
	return strings.Join(record.BreachTexts(t.record.Breaches), "; ")
}

func (b *builder) incomplete(t *test) string {
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
func (b *builder) altered(t *test) string {
	names := []string{record.UserConfName}
	for _, name := range t.logs() {
		names = append(names, record.LogFolder+"/"+name)
	}
	for _, name := range names {
		want, recorded := t.record.Files[name]
		sum, err := atomicfile.SHA256In(b.campaign, filepath.Join(t.where(), filepath.FromSlash(name)))
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
func (b *builder) wrongSeeds(t *test) string {
	want := map[string]uint64{
		"effective_qsl_rng_seed": b.round.Seeds.QSL, "effective_sample_index_rng_seed": b.round.Seeds.SampleIndex,
		"effective_schedule_rng_seed": b.round.Seeds.Schedule,
	}
	networked := b.o.Division != layout.Network
	var wrong []string
	f, err := atomicfile.OpenIn(b.campaign, filepath.Join(t.where(), record.LogFolder, mllog.DetailName))
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	_, err = mllog.ReadDetail(f, func(e *mllog.Entry) error {
		if seed, ok := want[e.Key]; ok {
			if e.Value.Text() != fmt.Sprint(seed) {
				wrong = append(wrong, fmt.Sprintf("%s is %.30s, but round %s requires %d",
					strings.TrimPrefix(e.Key, "effective_"), e.Value.Text(), b.round.Name, seed))
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
func (b *builder) otherRound(t *test) string {
	if r := t.record.Round; r != "" && r != b.round.Name {
		return fmt.Sprintf("it was run and judged under the rules of round %s, but the tree is for round %s", r, b.round.Name)
	}
	return ""
}

// scoreRecord is the file that the accuracy command writes beside accuracy.txt.
const scoreRecord = "accuracy.json"

// score rejects accuracy runs that were not scored, missed their target (except in open), or have a truncated log.
func (b *builder) score(t *test) string {
	if t.leaf.Test != layout.Accuracy {
		return ""
	}
	text, err := b.read(t, layout.ScoreFile)
	if err != nil {
		return fmt.Sprintf("it was not scored: %v; score it with `mlperf-go accuracy --log %s`", err, t.folder)
	}
	if layout.TruncationHash(text) != "" {
		return fmt.Sprintf("%s already has a hash: the log was truncated before the tree was built", layout.ScoreFile)
	}
	var r accuracy.Result
	text, err = b.read(t, scoreRecord)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("its score cannot be read: %v; score it with `mlperf-go accuracy --log %s`", err, t.folder)
	case b.o.Division == layout.Open && r.Missing == 0 && len(r.Unclaimed) == 0 && len(r.Unscored) == 0 ||
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
func (b *builder) audit(t *test) string {
	if !t.leaf.Audit() {
		return ""
	}
	v, err := b.audited(t)
	switch {
	case err != nil:
		return err.Error()
	case v.Test != t.leaf.Test:
		return "its verification is that of another audit: " + v.Test
	case !v.OK:
		return v.Why()
	}
	t.rehearsal = t.rehearsal || v.Rehearsal
	if v.Rehearsal && !b.o.Rehearsal {
		return "its count of queries was scaled down for a rehearsal"
	}
	return b.copies(t)
}

func (b *builder) audited(t *test) (v compliance.Verdict, err error) {
	dir, err := atomicfile.FolderIn(b.campaign, filepath.Join(t.where(), layout.VerifyFolder))
	if err != nil {
		return v, fmt.Errorf("the audit was run, but not verified: %w", err)
	}
	defer dir.Close()
	return compliance.ReadVerdict(dir.Name())
}

func (b *builder) copies(t *test) string {
	found := false
	err := treefs.Walk(context.Background(), b.campaign, t.leaf.Verified(""), func(e treefs.Entry) error {
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
func (b *builder) oneUserConf(s *scenario) {
	settings := func(name string) []string {
		text, err := b.read(s.test(name), record.UserConfName)
		if err != nil {
			return []string{err.Error()}
		}
		return slices.DeleteFunc(strings.Split(string(text), "\n"),
			func(l string) bool { return l == "" || strings.HasPrefix(l, "#") })
	}
	performance, accurate := settings(layout.Performance), settings(layout.Accuracy)
	for _, line := range accurate {
		if !slices.Contains(performance, line) {
			b.run(s.test(layout.Accuracy).where(), "user_conf",
				"it ran with %q, but the performance run did not: the tree has one user.conf for both", line)
			return
		}
	}
	if len(performance) != len(accurate) {
		b.run(s.test(layout.Accuracy).where(), "user_conf",
			"the performance run had %d settings in its user.conf and this one %d: the tree has one user.conf for both",
			len(performance), len(accurate))
	}
}
