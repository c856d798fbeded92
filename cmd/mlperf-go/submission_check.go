package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/check"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// checkCommand checks a tree against the rules.
type checkCommand struct{ *program }

func (cmd checkCommand) command() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "check a submission tree against the rules", ArgsUsage: "TREE",
		OnUsageError: usageError,
		Description: "Exit code 0: valid, or a tree marked as a rehearsal whose errors all have the class rehearsal; 1: " +
			"anything else.\n" +
			"With --compat the exit code is the official checker's, which is 1 for a rehearsal.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "round", Value: rounds.Current, Usage: "round whose rules apply"},
			&cli.BoolFlag{Name: "compat", Usage: "report only what the official checker reports"},
			&cli.BoolFlag{Name: "only-known", Usage: "ignore benchmarks that generate no text, instead of counting them as " +
				"not judged"},
			&cli.StringFlag{Name: "submitter", Usage: "check only this submitter's folders"},
			&cli.StringFlag{Name: "csv", Usage: "file to write the official summary to"},
			&cli.StringFlag{Name: "final-report", Usage: "file to write the JSON of the organisers' final report to"},
			&cli.StringFlag{Name: "ids", Usage: "file with the result numbers of earlier reports (ids.json); new numbers are " +
				"added to it"},
			&cli.StringFlag{Name: "repository", Usage: "repository of the submissions, for the links in the report",
				DefaultText: "submissions_inference_ROUND"},
			&cli.StringFlag{Name: "repository-owner", Value: "mlcommons", Usage: "owner of that repository"},
			&cli.StringFlag{Name: "repository-branch", Value: "main", Usage: "branch of that repository"},
			&cli.StringFlag{Name: "location", Usage: "prefix of the paths in the summary"},
			&cli.BoolFlag{Name: "submission-exceptions", Usage: "with --compat: accept logs whose only LoadGen " +
				"error is about uncommitted changes"},
			&cli.BoolFlag{Name: "skip-meaningful-fields-emptiness-check", Usage: "accept empty required fields in the " +
				"system and measurement files"},
			&cli.BoolFlag{Name: "skip-empty-files-check", Usage: "accept empty documents, such as README.md"},
			&cli.BoolFlag{Name: "skip-dataset-size-check", Usage: "accept accuracy logs with a wrong number of samples"},
		},
		Action: cmd.run,
	}
}

func (cmd checkCommand) run(c *cli.Context) error {
	root, err := oneTree(cmd.program, c)
	if err != nil {
		return err
	}
	o := check.Options{
		Round: c.String("round"), Mode: check.Strict, Submitter: c.String("submitter"), Location: c.String("location"),
		OnlyKnown:            c.Bool("only-known"),
		SubmissionExceptions: c.Bool("submission-exceptions"),
		SkipEmptyFields:      c.Bool("skip-meaningful-fields-emptiness-check"),
		SkipEmptyFiles:       c.Bool("skip-empty-files-check"), SkipDatasetSize: c.Bool("skip-dataset-size-check"),
	}
	if c.Bool("compat") {
		o.Mode = check.Compat
	}
	r, err := check.Check(c.Context, root, o)
	if err != nil {
		return exit.Usage(exit.CodeCheck, "", "%w", err)
	}
	if path := c.String("csv"); path != "" {
		if err := atomicfile.Write(path, func(w io.Writer) error { return r.CSV(w) }); err != nil {
			return err
		}
	}
	if c.String("final-report") != "" || c.String("ids") != "" {
		if err := finalReport(c, r); err != nil {
			return err
		}
	}
	if !r.OnlyRehearsal() { // a valid tree has no errors
		cmd.exit = run.ExitInvalid
	}
	if cmd.json {
		return r.JSON(cmd.stdout)
	}
	return printReport(cmd.out, r)
}

// printReport prints the findings, the results and the verdict.
func printReport(p page, r *check.Report) error {
	t := p.table(0)
	err := r.Text(t)
	t.Flush()
	return err
}

// finalReport writes the JSON of the organisers' final report, and the table of numbers that continues from one report
// to the next.
func finalReport(c *cli.Context, r *check.Report) error {
	path, table := c.String("final-report"), c.String("ids")
	if path == "" {
		return exit.Usage(exit.CodeFinalReport, "Give --final-report FILE too",
			"--ids requires --final-report")
	}
	ids, err := readIDs(table)
	if err != nil {
		return exit.Usage(exit.CodeIDs, "Pass the ids.json of the previous report, or the name of a new file", "%w", err)
	}
	o := check.FinalOptions{
		Version: strings.TrimPrefix(r.Round, "v"), Owner: c.String("repository-owner"),
		Repository: cmp.Or(c.String("repository"), "submissions_inference_"+r.Round),
		Branch:     c.String("repository-branch"), IDs: ids,
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { return r.FinalReport(w, o) }); err != nil {
		return err
	}
	if table == "" {
		return nil
	}
	return atomicfile.Write(table, func(w io.Writer) error { return check.WriteIDs(w, ids) })
}

// maxIDs limits the table of numbers in bytes: all rounds together have a few thousand systems.
const maxIDs = 16 << 20

// readIDs reads the numbers of earlier reports; none without a file.
func readIDs(path string) (map[string]int, error) {
	ids := map[string]int{}
	if path == "" {
		return ids, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ids, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the numbers of earlier reports: %w", err)
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxIDs)).Decode(&ids); err != nil {
		return nil, fmt.Errorf("the numbers of earlier reports in %s are not a JSON object of whole numbers: %w", path, err)
	}
	if ids == nil {
		return nil, fmt.Errorf("%s does not contain a JSON object", path)
	}
	return ids, nil
}

// oneTree returns the submission tree in the arguments. For the folder of a campaign, this is the tree in it.
func oneTree(p *program, c *cli.Context) (string, error) {
	root, err := oneArgument(c, "submission tree", "TREE")
	if err != nil {
		return "", err
	}
	if _, err := campaign.ReadState(root); err != nil {
		return root, checkIsTree(c.Command.Name, root)
	}
	tree := filepath.Join(root, layout.TreeName)
	if _, err := os.Stat(tree); err != nil {
		return "", exit.Usage(exit.CodeCheck, "Build it with `mlperf-go submission build "+root+"` (a rehearsal also needs "+
			"--rehearsal)", "%s is the folder of a campaign, and has no tree in %s yet", root, layout.TreeName)
	}
	p.notice(root + " is the folder of a campaign: its tree is " + tree)
	return tree, nil
}

// checkIsTree rejects folders of results, and folders that only contain a tree.
func checkIsTree(command, root string) error {
	if kind := results.Holds(root, ""); kind != "" {
		return exit.Usage(exit.CodeCheck, "Give the tree that `mlperf-go submission build` made of a campaign",
			"%s is the folder of %s, not a submission tree", root, plural.Article(kind))
	}
	if isTree(root) {
		return nil
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil // the command's message is better
	}
	for _, e := range entries {
		if below := filepath.Join(root, e.Name()); e.IsDir() && isTree(below) {
			return exit.Usage(exit.CodeCheck, fmt.Sprintf("Write `mlperf-go submission %s %s`", command, servers.Quote(below)),
				"%s has none of the folders %s, but %q in it has", root, strings.Join(layout.Divisions(), ", "), e.Name())
		}
	}
	return nil
}

// isTree reports whether a folder contains the folder of a division.
func isTree(folder string) bool {
	return slices.ContainsFunc(layout.Divisions(), func(division string) bool {
		info, err := os.Stat(filepath.Join(folder, division))
		return err == nil && info.IsDir()
	})
}
