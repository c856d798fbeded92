package compliance

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/mlperf-go/mlperf-go/models"
)

// goldenCase is one run of an official verification script.
type goldenCase struct {
	Name   string            `json:"name"`
	Args   []string          `json:"args"`
	Files  map[string]string `json:"files"`
	Expect struct {
		ExitCode    int               `json:"exit_code"`
		OutputFiles []string          `json:"output_files"`
		Texts       map[string]string `json:"texts"`
		Stdout      string            `json:"stdout"`
		Exception   string            `json:"exception"`
	} `json:"expect"`
}

// TestGoldenVerification compares every recorded run: the files in the output folder, the verify files byte for byte
// (except for the time of day), and the verdict.
func TestGoldenVerification(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(golden.Dir(t, "compliance"), "test*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var file struct {
			Test  string       `json:"test"`
			Cases []goldenCase `json:"cases"`
		}
		require.NoError(t, json.Unmarshal(text, &file))
		for _, c := range file.Cases {
			t.Run(file.Test+"/"+c.Name, func(t *testing.T) { c.check(t, file.Test) })
		}
	}
}

// usageErrors lists the cases in which the official script rejects its arguments.
var usageErrors = []string{"no-threshold", "no-thresholds"}

func (c *goldenCase) check(t *testing.T, test string) {
	t.Chdir(t.TempDir())
	for name, text := range c.Files {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	r, err := Verify(test, c.input(t, test))
	if slices.Contains(usageErrors, c.Name) {
		require.ErrorContains(t, err, "no "+strings.ToLower(test)+"_")
		return
	}
	require.NoError(t, err)
	if c.Expect.ExitCode != 0 && len(c.Expect.Texts) == 0 && test != Test08 {
		require.False(t, r.Pass)
		require.NotEmpty(t, r.Strict)
		require.ErrorContains(t, r.Write("out"), "has no verdict to write below out: ")
		return
	}
	if test == Test08 { // its script only prints; the user redirects the output to a file
		require.Equal(t, c.Expect.Stdout, r.Files["verify_accuracy.txt"])
		require.Equal(t, c.Expect.ExitCode == 0, r.Pass)
		return
	}
	require.NoError(t, r.Write("out"))
	require.ElementsMatch(t, c.Expect.OutputFiles, tree(t, "out"))
	pass := true
	for name, want := range c.Expect.Texts {
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, maskTimes(want), maskTimes(string(got)), name)
		pass = pass && (strings.Contains(want, "TEST PASS") || strings.Contains(want, "TEST06 verification complete"))
	}
	require.Equal(t, pass, r.Pass)
	if !r.Pass {
		require.False(t, r.OK())
		require.True(t, slices.ContainsFunc(r.Strict, func(f Finding) bool { return f.Severity == Fatal }),
			"a failure has a finding")
	}
}

func tree(t *testing.T, root string) []string {
	var files []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, filepath.ToSlash(path))
		}
		return err
	}))
	return files
}

var times = regexp.MustCompile(`(?m)^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} `)

func maskTimes(text string) string { return times.ReplaceAllString(text, "[TIME ") }

// input converts a script's arguments to an Input, as the script interprets them.
func (c *goldenCase) input(t *testing.T, test string) Input {
	var in Input
	var results, scenario, evaluator, dtype, threshold, low, high string
	f := flag.NewFlagSet(test, flag.ContinueOnError)
	f.StringVar(&results, "r", "", "")
	f.StringVar(&in.Compliance, "c", "", "")
	f.String("o", "", "")
	f.String("t", "", "")
	f.StringVar(&scenario, "s", "", "")
	f.StringVar(&in.EOSOption, "e", "", "")
	f.StringVar(&dtype, "d", "", "")
	f.StringVar(&dtype, "dtype", dtype, "")
	f.StringVar(&evaluator, "accuracy-script", "", "")
	f.StringVar(&in.AuditFile, "audit-config", "", "")
	f.StringVar(&threshold, "accuracy-threshold", "", "")
	f.StringVar(&low, "min-output-tokens", "", "")
	f.StringVar(&high, "max-output-tokens", "", "")
	require.NoError(t, f.Parse(c.Args))
	in.Type, in.Scenario = DType(dtype), models.Scenario(scenario)
	in.Threshold, in.MinTokens, in.MaxTokens = optional(t, threshold), optional(t, low), optional(t, high)
	in.ReferenceAccuracy, in.ReferencePerformance = results+"/accuracy", results+"/performance/run_1"
	if name, ok := strings.CutPrefix(evaluator, "cat "); ok {
		in.Evaluator = c.Files[name]
	}
	if test == Test08 {
		in.ReferenceAccuracy, in.Compliance = asLog(t, "ref", f.Lookup("r").Value.String()),
			asLog(t, "test", f.Lookup("t").Value.String())
	}
	return in
}

// asLog copies a file to the path of the accuracy log in a run's folder.
func asLog(t *testing.T, folder, file string) string {
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.NoError(t, os.Rename(file, filepath.Join(folder, "mlperf_log_accuracy.json")))
	return folder
}

func optional(t *testing.T, text string) *float64 {
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return &v
}
