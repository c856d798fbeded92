package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/check"
)

// checkCommand checks a tree against the rules.
type checkCommand struct{ *program }

func (cmd checkCommand) command() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "hold a submission tree against the rules", ArgsUsage: "TREE", HideHelpCommand: true,
		OnUsageError: usageError,
		Description: "Exit code 0: valid, or a tree that says that it is a rehearsal and has no other error than class " +
			"rehearsal; 1: anything else.\n" +
			"With --compat the official checker's: 1 for a rehearsal too.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "round", Value: rounds.Current, Usage: "round of the rules"},
			&cli.BoolFlag{Name: "compat", Usage: "only what the official checker says"},
			&cli.BoolFlag{Name: "only-known", Usage: "leave out benchmarks that generate no text, instead of counting them as " +
				"not judged"},
			&cli.StringFlag{Name: "submitter", Usage: "only this submitter's folders"},
			&cli.StringFlag{Name: "csv", Usage: "file for the official summary"},
			&cli.StringFlag{Name: "final-report", Usage: "file for the JSON of the organisers' final report"},
			&cli.StringFlag{Name: "ids", Usage: "file with the numbers that earlier reports gave, in the form of ids.json; " +
				"new ones are added"},
			&cli.StringFlag{Name: "repository", Usage: "repository of the submissions, for the report's links",
				DefaultText: "submissions_inference_ROUND"},
			&cli.StringFlag{Name: "repository-owner", Value: "mlcommons", Usage: "owner of that repository"},
			&cli.StringFlag{Name: "repository-branch", Value: "main", Usage: "branch of that repository"},
			&cli.StringFlag{Name: "location", Usage: "what stands before the paths in the summary"},
			&cli.BoolFlag{Name: "submission-exceptions", Usage: "the official checker's switch of that name"},
			&cli.BoolFlag{Name: "skip-meaningful-fields-emptiness-check", Usage: "the official checker's switch of that name"},
			&cli.BoolFlag{Name: "skip-empty-files-check", Usage: "the official checker's switch of that name"},
			&cli.BoolFlag{Name: "skip-dataset-size-check", Usage: "the official checker's switch of that name"},
		},
		Action: cmd.run,
	}
}

func (cmd checkCommand) run(c *cli.Context) error {
	root, err := oneTree(c)
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
		return run.UsageError("check", "", "%w", err)
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
	if !r.OnlyRehearsal() { // a valid tree has no error at all
		cmd.exit = run.ExitInvalid
	}
	if cmd.json {
		return r.JSON(cmd.stdout)
	}
	return r.Text(cmd.stdout)
}

// finalReport writes the JSON of the organisers' final report, and the table of numbers that goes from one report to
// the next.
func finalReport(c *cli.Context, r *check.Report) error {
	path, table := c.String("final-report"), c.String("ids")
	if path == "" {
		return run.UsageError("final_report", "Give --final-report FILE too",
			"--ids is given, and no --final-report that would need it")
	}
	ids, err := readIDs(table)
	if err != nil {
		return run.UsageError("ids", "Give the ids.json of the report before, or a name for a new one", "%w", err)
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

// maxIDs bounds the table of numbers: some thousand systems in all rounds together.
const maxIDs = 16 << 20

// readIDs reads the numbers of earlier reports; a file that is not there yet has none.
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
		return nil, fmt.Errorf("the numbers of earlier reports can not be read: %w", err)
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxIDs)).Decode(&ids); err != nil {
		return nil, fmt.Errorf("the numbers of earlier reports in %s are no JSON object of whole numbers: %w", path, err)
	}
	if ids == nil {
		return nil, fmt.Errorf("%s holds no JSON object", path)
	}
	return ids, nil
}
