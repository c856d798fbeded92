package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/hostinfo"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/check"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/tree"
	"github.com/mlperf-go/mlperf-go/submission/truncate"
)

// rehearsalSubmitter has a rehearsal's tree where nobody is named.
const rehearsalSubmitter = "Rehearsal"

// chain is `submission` without a word: from an endpoint to a tree that was checked.
func (p *program) chain(c *cli.Context) error {
	if c.NumFlags() == 0 || c.NArg() > 0 && c.String("server-config") == "" {
		return p.noCommand(c)
	}
	e, err := p.effective(c)
	if err != nil {
		return err
	}
	k, err := p.newCampaign(c, e)
	if err != nil {
		return err
	}
	if len(k.Tasks) < len(k.All) || c.Bool("dry-run") || c.Bool("print-script") {
		return run.UsageError("only", "--only, --dry-run and --print-script are for `mlperf-go submission run`",
			"a tree is made of every step of a campaign")
	}
	if k.Submitter == "" && !k.Real {
		k.Submitter = rehearsalSubmitter
	}
	if k.Submitter == "" {
		return run.UsageError("submitter", "Give --submitter, or a description with --system; `mlperf-go submission run` "+
			"only measures", "nobody is named who submits")
	}
	outcomes, err := p.measure(c.Context, k)
	if len(outcomes) == 0 || err != nil && p.json { // nothing was begun, or one object: the error
		return err
	}
	if err != nil || p.exit != run.ExitValid {
		p.printOutcomes(k.State(), outcomes)
		p.printWayOn()
		return err
	}
	return p.handIn(c.Context, k, outcomes)
}

// handedIn is the chain's result as JSON.
type handedIn struct {
	Campaign  any               `json:"campaign"`
	Tree      *tree.Result      `json:"tree"`
	Truncated []truncate.Target `json:"truncated"`
	Check     *check.Report     `json:"check"`
}

// handIn builds the tree of a campaign that is done, cuts its logs and checks it.
func (p *program) handIn(ctx context.Context, k *theCampaign, outcomes []campaign.Outcome) error {
	machine := hostinfo.Inspect()
	built, err := tree.Build(ctx, tree.Options{
		Campaign: k.Folder, Round: k.Round, Division: k.Division, Submitter: k.Submitter, Description: k.words,
		Machine:   &machine,
		Rehearsal: !k.Real, Force: true,
	})
	if err != nil {
		return buildError(err)
	}
	originals, err := freshFolder(k.Folder, layout.OriginalsName)
	if err != nil {
		return err
	}
	cut, err := truncate.Tree(ctx, built.Root, truncate.Options{Submitter: built.Submitter, Backup: originals})
	if err != nil {
		return run.UsageError("truncate", "", "%w", err)
	}
	report, err := check.Check(ctx, built.Root, check.Options{Round: k.Round, Mode: check.Strict})
	if err != nil {
		return run.UsageError("check", "", "%w", err)
	}
	if !report.Valid && !report.OnlyRehearsal() {
		p.exit = run.ExitInvalid
	}
	if p.json {
		p.writeJSON(handedIn{outcomesJSON(k.State(), outcomes), built, cut, report})
		return nil
	}
	p.printOutcomes(k.State(), outcomes)
	if p.quiet {
		return nil
	}
	fmt.Fprintln(p.stdout)
	p.printTree(built)
	fmt.Fprintf(p.stdout, "%d accuracy logs are cut, the whole ones lie in %s\n\n", len(cut), originals)
	return printVerdict(p.stdout, report)
}

// printVerdict says what stands against a tree. Of a rehearsal it is the list of what makes it one, each rule once.
func printVerdict(w io.Writer, r *check.Report) error {
	switch {
	case r.Valid:
		_, err := fmt.Fprintf(w, "The tree is valid: %d results, %d warnings.\n", r.Counts.Valid, r.Counts.Warnings)
		return err
	case !r.OnlyRehearsal():
		return r.Text(w)
	}
	type line struct {
		check.Finding
		places int
	}
	var lines []*line
	byRule := map[string]*line{}
	for _, f := range r.Findings {
		if f.Severity != check.Error {
			continue
		}
		if known := byRule[f.Rule+f.Key]; known != nil {
			known.places++
			continue
		}
		l := &line{f, 1}
		byRule[f.Rule+f.Key] = l
		lines = append(lines, l)
	}
	fmt.Fprintf(w, "Nothing is wrong with the tree but that it is a rehearsal:\n")
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(t, "  %s\t%s\t%s, and a submission has %s\t%s\n", l.Rule, l.Key, l.Found, l.Expected,
			count(l.places, "place"))
	}
	return t.Flush()
}

// freshFolder gives a folder below another that is new: what an earlier tree has left there goes aside.
func freshFolder(root, name string) (string, error) {
	path := filepath.Join(root, name)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	for n := 1; ; n++ {
		to := filepath.Join(root, campaign.AsideName, name+"-"+strconv.Itoa(n))
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = os.Rename(path, to)
		}
		if err != nil {
			return "", run.EnvironmentError("output_dir", "", "the whole logs of an earlier tree can not be moved aside: %w",
				err)
		}
		return path, nil
	}
}

func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
