package submission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/check"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/pack"
	"github.com/mlperf-go/mlperf-go/submission/tree"
	"github.com/mlperf-go/mlperf-go/submission/truncate"
)

// rehearsalSubmitter is the submitter in a rehearsal's tree if the campaign names none.
const rehearsalSubmitter = "Rehearsal"

// Build builds the tree of the runs in a campaign's folder. What the options leave open is taken from campaign.json and
// from this machine. A run that cannot be submitted is an invalid result; a missing description is an error of usage.
func Build(ctx context.Context, o tree.Options) (*tree.Result, error) {
	if state, err := campaign.ReadState(o.Campaign); err == nil { // runs may also have been copied there by hand
		o.Round = cmp.Or(o.Round, state.Round)
		o.Campaigned = tree.Campaigned{Division: state.Division, Submitter: state.Submitter}
	}
	return build(ctx, o)
}

func build(ctx context.Context, o tree.Options) (*tree.Result, error) {
	machine := hostinfo.Inspect()
	o.Machine = &machine
	r, err := tree.Build(ctx, o)
	if err == nil {
		return r, nil
	}
	var refused *tree.Refusal
	var known *run.Error
	switch {
	case errors.As(err, &known):
		return nil, err
	case !errors.As(err, &refused):
		return nil, exit.Usage(exit.CodeBuild, "", "%w", err)
	case len(refused.Runs) > 0:
		return nil, &run.Error{Exit: run.ExitInvalid, Code: exit.CodeNotSubmittable, Err: err,
			Hint: "`mlperf-go submission run` repeats what is not valid"}
	}
	return nil, exit.Usage(exit.CodeDescription,
		"`mlperf-go submission init` writes a file with all fields; give it with --system", "%w", err)
}

// Prepare checks before hours of tests that a campaign can become a tree, and names the submitter of a rehearsal.
func Prepare(p *campaign.Plan) error {
	if len(p.Tasks) < len(p.All) {
		return ErrPartial
	}
	if p.Submitter == "" && !p.Real {
		p.Submitter = rehearsalSubmitter
	}
	if p.Submitter == "" {
		return exit.Usage(exit.CodeSubmitter,
			"Pass --submitter NAME, or a description with --system; a rehearsal (--rehearsal-size tiny) needs neither, and "+
				"`mlperf-go submission run` only measures",
			"no submitter given")
	}
	return nil
}

// ErrPartial rejects a tree of some of a campaign's steps.
var ErrPartial = exit.Usage(exit.CodeOnly, "--only, --dry-run and --print-script are for `mlperf-go submission run`",
	"a tree needs every step of a campaign")

// HandedIn is a tree that was built, truncated and checked.
type HandedIn struct {
	Tree      *tree.Result
	Truncated []truncate.Target
	Originals string // folder of the whole accuracy logs
	Check     *check.Report
}

// HandIn builds the tree of a campaign whose steps are done, truncates its accuracy logs and checks it. Findings of the
// check are no error.
func HandIn(ctx context.Context, p *campaign.Plan) (*HandedIn, error) {
	built, err := build(ctx, tree.Options{
		Campaign: p.Folder, Round: p.Round, Division: p.Division, From: "the campaign", Submitter: p.Submitter,
		Description: p.Description, Rehearsal: !p.Real, Force: true,
	})
	if err != nil {
		return nil, err
	}
	h := &HandedIn{Tree: built}
	if h.Originals, err = freshFolder(p.Folder, layout.OriginalsName); err != nil {
		return nil, err
	}
	h.Truncated, err = truncate.Tree(ctx, built.Root, truncate.Options{Submitter: built.Submitter, Backup: h.Originals})
	if err != nil {
		return nil, exit.Usage(exit.CodeTruncate, "", "%w", err)
	}
	if h.Check, err = check.Check(ctx, built.Root, check.Options{Round: p.Round, Mode: check.Strict}); err != nil {
		return nil, exit.Usage(exit.CodeCheck, "", "%w", err)
	}
	return h, nil
}

// freshFolder returns the path of a folder below root that does not exist: an earlier one is moved aside.
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
			return "", exit.Environment(exit.CodeOutputDir, "",
				"the whole logs of an earlier tree cannot be moved aside: %w", err)
		}
		return path, nil
	}
}

// PackOptions are how a tree is packed.
type PackOptions struct {
	pack.Options
	Round     string // of the rules
	Rehearsal bool   // whether the packed tree is a rehearsal
}

// Pack checks a tree and packs it when it is valid. Without Output the tarball goes beside the tree.
func Pack(ctx context.Context, o PackOptions) (*pack.Result, *check.Report, error) {
	o.Output = cmp.Or(o.Output, filepath.Dir(filepath.Clean(o.Root)))
	report, err := check.Check(ctx, o.Root, check.Options{Round: o.Round, Submitter: o.Submitter})
	switch {
	case err != nil:
		return nil, nil, exit.Usage(exit.CodeCheck, "", "%w", err)
	case !report.Valid && !(report.OnlyRehearsal() && o.Rehearsal):
		hint := "`mlperf-go submission check " + o.Root + "` lists them"
		if report.OnlyRehearsal() {
			hint = "It is a rehearsal: give --rehearsal to pack it as one"
		}
		return nil, nil, &run.Error{Exit: run.ExitInvalid, Code: exit.CodeNotValid, Hint: hint,
			Err: fmt.Errorf("the tree %s has %s and is not packed", o.Root,
				plural.Count(report.Counts.Errors, "error", "errors"))}
	}
	r, err := pack.Pack(ctx, o.Options)
	var refused *pack.Refusal
	switch {
	case errors.As(err, &refused):
		return nil, nil, &run.Error{Exit: run.ExitInvalid, Code: exit.CodeNotPacked, Err: err}
	case err != nil:
		return nil, nil, exit.Usage(exit.CodePack, "", "%w", err)
	}
	return r, report, nil
}
