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
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/check"
)

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
