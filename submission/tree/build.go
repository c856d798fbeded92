package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/submission/describe"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Options are the inputs of Build.
type Options struct {
	Campaign    string // folder of the campaign
	Output      string // root of the tree; "": layout.TreeName in the campaign's folder
	Round       string // "": rounds.Current
	Division    string // "": the description's, else the campaign's, else closed
	From        string // source of Division; "": --division
	Submitter   string // "": the description's, else the campaign's
	Campaigned  Campaigned
	Description *describe.Description
	Machine     *hostinfo.Inventory // this machine; nil: unknown
	Rehearsal   bool                // accept rehearsals, and mark the tree as one
	Force       bool                // replace an existing tree
}

// Campaigned holds the submission's settings in the campaign.
type Campaigned struct {
	Division  string
	Submitter string
}

// Problem is one reason why nothing was built.
type Problem struct {
	Where string `json:"where"` // folder relative to the campaign's, or field of the description
	Code  string `json:"code"`
	Text  string `json:"text"`
}

// Refusal is the error of a tree that cannot be built. Runs lists runs that cannot be submitted, which must be
// repeated; Words lists missing or invalid fields of the description.
type Refusal struct {
	Runs     []Problem
	Words    []Problem
	Division string // whose rules applied, and where it comes from
}

func (r *Refusal) Error() string {
	var b strings.Builder
	if len(r.Runs) > 0 {
		fmt.Fprintf(&b, "problems with the runs (%d):\n", len(r.Runs))
		for _, p := range r.Runs {
			fmt.Fprintf(&b, "  %s: %s (%s)\n", p.Where, p.Text, p.Code)
		}
	}
	var empty []string
	for _, p := range r.Words {
		if p.Code == codeEmpty {
			empty = append(empty, p.Where)
		} else {
			fmt.Fprintf(&b, "  %s: %s (%s)\n", p.Where, p.Text, p.Code)
		}
	}
	if len(empty) > 0 {
		fmt.Fprintf(&b, "the description lacks %s neither set nor detected: %s\n",
			plural.Count(len(empty), "field that is", "fields that are"),
			strings.Join(empty, ", "))
	}
	return b.String() + "the division is " + r.Division + "; nothing was written"
}

// run adds a problem of a run.
func (r *Refusal) run(where, code, format string, args ...any) {
	r.Runs = append(r.Runs, Problem{where, code, fmt.Sprintf(format, args...)})
}

// word adds a problem of the description unless the list contains it.
func (r *Refusal) word(where, code, format string, args ...any) {
	if p := (Problem{where, code, fmt.Sprintf(format, args...)}); !slices.Contains(r.Words, p) {
		r.Words = append(r.Words, p)
	}
}

// codeEmpty is the code of a field without a value.
const codeEmpty = "empty"

// Result describes the tree that was built.
type Result struct {
	Root      string            `json:"root"`
	Round     string            `json:"round"`
	Division  string            `json:"division"`
	From      string            `json:"division_from"` // --division, the description, the campaign or the default
	Submitter string            `json:"submitter"`
	Rehearsal bool              `json:"rehearsal"`
	Scenarios []string          `json:"scenarios"` // folders of the tree
	Files     int               `json:"files"`
	Reused    int               `json:"reused"` // files kept from an interrupted build
	Bytes     int64             `json:"bytes"`
	Filled    map[string]string `json:"filled"` // field of the system → source of its value
	Notes     []string          `json:"notes"`
}

// Build builds the tree. It returns a *Refusal if runs or the description do not allow it; other errors are about the
// options or the environment.
func Build(ctx context.Context, o Options) (*Result, error) {
	b, err := newBuilder(o)
	if err != nil {
		return nil, err
	}
	defer b.close()
	if err := b.collect(); err != nil {
		return nil, err
	}
	if err := b.judge.all(ctx, b.scenarios); err != nil {
		return nil, err
	}
	b.describe()
	if len(b.refusal.Runs)+len(b.refusal.Words) > 0 {
		return nil, &b.refusal
	}
	if err := b.plan(); err != nil {
		return nil, err
	}
	if len(b.refusal.Words) > 0 { // found by plan: the submitter's code
		return nil, &b.refusal
	}
	if err := b.writer.write(ctx); err != nil {
		return nil, err
	}
	return b.result(), nil
}

// builder is the state of a build.
type builder struct {
	o         Options
	from      string // source of the division
	campaign  campaignFolder
	code      *os.Root // the submitter's code; nil: none
	round     *rounds.Round
	submitter layout.Submitter
	words     *describe.Description
	scenarios []*scenario
	kind      string // default system type of a rehearsal
	judge     judge
	files     content
	writer    writer
	refusal   Refusal
}

func newBuilder(o Options) (*builder, error) {
	if o.Round == "" {
		o.Round = rounds.Current
	}
	round, err := rounds.Find(o.Round)
	if err != nil {
		return nil, fmt.Errorf("build the tree of %s: %w", o.Campaign, err)
	}
	if o.Description == nil {
		o.Description = describe.New()
	}
	d := o.Description
	division, from := o.division()
	if o.Division = division; !slices.Contains(layout.Divisions(), division) {
		return nil, fmt.Errorf("build the tree of %s: unknown division %q (from %s): use one of %s", o.Campaign, division,
			from, strings.Join(layout.Divisions(), ", "))
	}
	o.Submitter = cmp.Or(o.Submitter, d.Submitter, o.Campaigned.Submitter)
	if o.Submitter == "" && o.Rehearsal {
		o.Submitter = "Rehearsal"
	}
	if o.Output == "" {
		o.Output = filepath.Join(o.Campaign, layout.TreeName)
	}
	root, err := os.OpenRoot(o.Campaign)
	if err != nil {
		return nil, fmt.Errorf("build the tree of %s: %w; pass the --output-dir of `submission run`", o.Campaign, err)
	}
	b := &builder{o: o, from: from, campaign: campaignFolder{root, o.Campaign}, round: round, words: d,
		refusal:   Refusal{Division: fmt.Sprintf("%s, from %s", division, from)},
		submitter: layout.Submitter{Division: o.Division, Name: o.Submitter}}
	b.judge = judge{campaign: b.campaign, division: o.Division, round: round, rehearsal: o.Rehearsal, refusal: &b.refusal}
	b.writer = writer{output: filepath.Clean(o.Output), force: o.Force, files: &b.files, keep: b.keepPower}
	d.Submitter, d.Division = o.Submitter, o.Division
	d.System["submitter"], d.System["division"] = o.Submitter, o.Division
	if ran := o.Campaigned.Division; ran != "" && ran != o.Division {
		b.files.noteOnce("the campaign ran for the %s division, and its tree is for the %s division", ran, o.Division)
	}
	return b, nil
}

// division returns the division of the tree, and where it comes from.
func (o *Options) division() (name, from string) {
	for _, source := range []struct{ name, from string }{
		{o.Division, cmp.Or(o.From, "--division")}, {o.Description.Division, "the description"},
		{o.Campaigned.Division, "the campaign"},
	} {
		if source.name != "" {
			return source.name, source.from
		}
	}
	return layout.Closed, "the default"
}

// close closes the opened folders.
func (b *builder) close() {
	for _, root := range []*os.Root{b.campaign.root, b.code} {
		if root != nil {
			_ = root.Close()
		}
	}
}

// folderName returns what is wrong with a name of a folder, or "".
func folderName(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case strings.ContainsAny(name, `/\`+" \t\r\n"):
		return "it contains a blank or a slash"
	case strings.HasPrefix(name, "."):
		return "it begins with a dot"
	}
	return ""
}

func (b *builder) result() *Result {
	r := &Result{
		Root: b.o.Output, Round: b.round.Name, Division: b.o.Division, From: b.from, Submitter: b.o.Submitter,
		Rehearsal: b.rehearsal(),
		Scenarios: []string{}, Files: len(b.files.entries), Reused: b.writer.reused, Bytes: b.writer.bytes,
		Filled: b.words.From, Notes: append([]string{}, b.files.notes...),
	}
	for _, s := range b.scenarios {
		r.Scenarios = append(r.Scenarios, s.place.Folder())
	}
	return r
}

// rehearsal reports whether any run of the tree is a rehearsal.
func (b *builder) rehearsal() bool {
	return slices.ContainsFunc(b.scenarios, func(s *scenario) bool {
		return slices.ContainsFunc(s.tests, func(t *test) bool { return t.rehearsal })
	})
}

var errNothing = errors.New("no runs found: a campaign's folder contains " +
	"SYSTEM/BENCHMARK/SCENARIO/{performance,accuracy,TESTnn}; pass the --output-dir of `submission run`")
