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

// objection is one reason not to take a run. look gives the words of it, none where the run may be taken.
type objection struct {
	code string
	look func(*builder, *test) string
}

// objections are asked in order for every run of a scenario; the first that holds is told, since those behind it would
// follow from it.
var objections = []objection{
	{"missing", (*builder).missing},
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

// judge holds every run against the objections, and the runs of a scenario against each other.
func (b *builder) judge(ctx context.Context) error {
	for _, s := range b.scenarios {
		whole := true
		for _, t := range s.tests {
			if ctx.Err() != nil {
				return fmt.Errorf("building a tree of %s: %w", b.o.Campaign, context.Cause(ctx))
			}
			for _, o := range objections {
				if words := o.look(b, t); words != "" {
					b.run(t.where(), o.code, "%s", words)
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

func (b *builder) missing(t *test) string {
	dir, err := atomicfile.FolderIn(b.campaign, t.where())
	if err == nil {
		err = dir.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && t.leaf.Audit():
		return fmt.Sprintf("round %s asks for this audit, and it was not run", b.round.Name)
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
	allowed := []record.Code{record.CodeNotScored} // a later score may replace it: another check looks for it
	if b.o.Division == layout.Open {
		allowed = append(allowed, record.CodeAccuracyBelowTarget)
	}
	if t.record.ValidBut(allowed...) {
		return ""
	}
	words := []string{string(t.record.Verdict)}
	for _, c := range t.record.Reasons {
		words = append(words, fmt.Sprintf("%s: %s", c.Code, c.Text))
	}
	return strings.Join(words, "; ")
}

// otherTest: a folder may have been used for something else, or moved.
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
	return "its record is of " + r.Test()
}

func (b *builder) rehearsed(t *test) string {
	if !t.record.Rehearsal || b.o.Rehearsal {
		return ""
	}
	return "it is a rehearsal: " + strings.Join(t.record.RehearsalReasons, "; ")
}

// breached: the closed and network divisions fix what requests ask for.
func (b *builder) breached(t *test) string {
	if b.o.Division == layout.Open || t.rehearsal {
		return ""
	}
	var words []string
	for _, breach := range t.record.Breaches {
		words = append(words, breach.String())
	}
	return strings.Join(words, "; ")
}

func (b *builder) incomplete(t *test) string {
	if t.record.LoadGen.Complete {
		return ""
	}
	return "LoadGen's logs lack their end: " + strings.Join(t.record.LoadGen.Missing, "; ")
}

// logs are the files of a run that a tree takes.
func (t *test) logs() []string {
	names := []string{mllog.SummaryName, mllog.DetailName}
	if t.leaf.Test != layout.Performance {
		names = append(names, mllog.AccuracyName)
	}
	return names
}

// altered: a log must be the one that the run left, byte for byte.
func (b *builder) altered(t *test) string {
	names := []string{record.UserConfName}
	for _, name := range t.logs() {
		names = append(names, record.LogFolder+"/"+name)
	}
	for _, name := range names {
		want, noted := t.record.Files[name]
		sum, err := atomicfile.SHA256In(b.campaign, filepath.Join(t.where(), filepath.FromSlash(name)))
		switch {
		case err != nil:
			return err.Error()
		case !noted:
			return fmt.Sprintf("its record has no hash of %s", name)
		case sum != want:
			return fmt.Sprintf("%s was changed after the run: its SHA-256 is %.16s..., and the record says %.16s...", name, sum,
				want)
		}
	}
	return ""
}

// wrongSeeds reads them from the log: the record's numbers are rounded by who reads them.
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
				wrong = append(wrong, fmt.Sprintf("%s is %.30s and round %s has %d", strings.TrimPrefix(e.Key, "effective_"),
					e.Value.Text(), b.round.Name, seed))
			}
			delete(want, e.Key)
		}
		networked = networked || e.Key == "sut_name" && strings.Contains(e.Value.Text(), plan.NetworkSUT)
		return nil
	})
	switch {
	case err != nil:
		return err.Error()
	case t.leaf.Test == layout.Accuracy: // the rules ask for seeds where the order of the samples counts
		return ""
	case len(wrong) > 0:
		return strings.Join(wrong, "; ")
	case len(want) > 0:
		return "its log does not name the seeds"
	case !networked:
		return fmt.Sprintf("its log does not name the system a %s, as the network division wants: run with --network-sut",
			plan.NetworkSUT)
	}
	return ""
}

// otherRound: a run that another round's limits and targets have judged. A log without a record has only its seeds.
func (b *builder) otherRound(t *test) string {
	if r := t.record.Round; r != "" && r != b.round.Name {
		return fmt.Sprintf("it was run for round %s, whose limits and targets have judged it, and the tree is of round %s", r,
			b.round.Name)
	}
	return ""
}

// scoreRecord is what the accuracy command leaves beside accuracy.txt.
const scoreRecord = "accuracy.json"

// score: the accuracy run was scored, reached its target (not in open), and its log was not cut yet.
func (b *builder) score(t *test) string {
	if t.leaf.Test != layout.Accuracy {
		return ""
	}
	text, err := b.read(t, layout.ScoreFile)
	if err != nil {
		return fmt.Sprintf("it was not scored: %v; score it with `mlperf-go accuracy --log %s`", err, t.folder)
	}
	if layout.TruncationHash(text) != "" {
		return fmt.Sprintf("%s has a hash already: the log was truncated before the tree was built", layout.ScoreFile)
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
		return fmt.Sprintf("not every answer was scored: %d of the benchmark's parts are not", len(r.Unscored))
	}
	return "below the target: " + strings.Join(short, ", ") + "; the open division takes it"
}

// audit: it was verified, the verification passed, and its copies of the logs are the run's.
func (b *builder) audit(t *test) string {
	if !t.leaf.Audit() {
		return ""
	}
	v, err := b.audited(t)
	switch {
	case err != nil:
		return err.Error()
	case v.Test != t.leaf.Test:
		return "its verification is of " + v.Test
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
		return v, fmt.Errorf("the audit was run and not verified: %w", err)
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
			return fmt.Errorf("%s is no plain file", e.Path)
		}
		found = true
		want, isLog := t.record.Files[record.LogFolder+"/"+e.Name()]
		if !isLog {
			return nil
		}
		if sum, err := atomicfile.SHA256In(e.Dir, e.Name()); err != nil || sum != want {
			return fmt.Errorf("%s is not the log that the audit's run left", e.Path)
		}
		return nil
	})
	switch {
	case err != nil:
		return err.Error()
	case !found:
		return "its verification left no files"
	}
	return ""
}

// oneUserConf: performance and accuracy of a scenario ran with one configuration, and that is what the tree holds.
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
				"it ran with %q, and the performance run did not: one user.conf is packed for both", line)
			return
		}
	}
	if len(performance) != len(accurate) {
		b.run(s.test(layout.Accuracy).where(), "user_conf",
			"the performance run had %d settings in its user.conf and this one %d: one user.conf is packed for both",
			len(performance), len(accurate))
	}
}
