package compliance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
	"github.com/mlperf-go/mlperf-go/models"
)

// summaryScore contains what the official script of TEST04 reads from a summary log.
type summaryScore struct {
	scenario string
	score    string // score as printed in the log
	invalid  bool
	errors   []string // counts in LoadGen's lines about errors
}

// percentileLines match the lines with the latency that is the score of SingleStream and MultiStream.
var percentileLines = map[string]*regexp.Regexp{
	string(models.SingleStream): regexp.MustCompile(`Early stopping (90th|90.0th|99.9th) percentile estimate`),
	"MultiStream":               regexp.MustCompile(`Early stopping (99th|99.0th) percentile estimate`),
}

// rateLines are the prefixes of the lines with the score of the other scenarios.
var rateLines = map[string]string{
	string(models.Server):  "Completed samples per second",
	string(models.Offline): "Samples per second",
}

// test04 compares a run in which every query is the same with the performance run. A cache of answers would make that
// run faster.
func (a *audit) test04() error {
	const name = "verify_performance.txt"
	text := "Verifying performance.\n"
	var runs [2]summaryScore
	for i, who := range []struct{ folder, name, verdict string }{
		{a.ReferencePerformance, "reference", "TEST FAIL: Reference results are invalid\n"},
		{a.Compliance, "test", "TEST FAIL: Test results are invalid\n"},
	} {
		path := joined(who.folder, mllog.SummaryName)
		s, err := readSummary(path)
		if err != nil {
			if unreadable(err) {
				return err
			}
			a.out.giveUp(path, err)
			return nil
		}
		for _, n := range s.errors {
			text += "WARNING: " + n + " ERROR reported in " + who.name + " results\n"
		}
		if s.invalid {
			a.out.Files[name] = text + who.verdict
			a.out.add(Fatal, "run_invalid", path, "LoadGen calls the run invalid")
			return nil
		}
		runs[i] = s
	}
	return a.judge04(name, text, runs[0], runs[1])
}

func (a *audit) judge04(name, text string, ref, test summaryScore) error {
	path := joined(a.Compliance, mllog.SummaryName)
	if ref.scenario != test.scenario {
		a.out.Files[name] = text + "Test and reference scenarios do not match!\n"
		a.out.add(Fatal, "scenario_differs", path, "the audit ran %q and the performance run %q", test.scenario, ref.scenario)
		return nil
	}
	r, err1 := pyrepr.ParseFloat(ref.score)
	t, err2 := pyrepr.ParseFloat(test.score)
	if err := errors.Join(err1, err2); err != nil {
		a.out.giveUp(path, fmt.Errorf("a score cannot be read: %w", err))
		return nil
	}
	// The script confuses rate and latency here, so the wider bound applies to almost every sequential system.
	a.out.Pass = t < r*(1+tolerance(ref.scenario, r))
	verdict := "TEST PASS\n"
	if !a.out.Pass {
		verdict = "TEST FAIL: Test score invalid\n"
		a.out.add(Fatal, "too_fast", path, "with a single sample the score is %s, with all samples it is %s: answers may "+
			"come from a cache", test.score, ref.score)
	}
	a.out.Files[name] = text + "reference score = " + ref.score + "\ntest score = " + test.score + "\n" + verdict
	a.out.figure("reference_score", r)
	a.out.figure("score", t)
	return nil
}

// maxSummary is the maximum size of a summary log in bytes. LoadGen's logs have about a hundred lines.
const maxSummary = 4 << 20

func readSummary(path string) (summaryScore, error) {
	f, err := atomicfile.OpenBelow(filepath.Split(path))
	if err != nil {
		return summaryScore{}, fmt.Errorf("reading LoadGen's summary: %w", err)
	}
	defer f.Close()
	s, err := parseSummary(f)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// parseSummary parses a summary log. Like the official script, it stops at the line that states that the run is
// invalid.
func parseSummary(r io.Reader) (summaryScore, error) {
	s := summaryScore{score: "0"}
	in := bufio.NewScanner(io.LimitReader(r, maxSummary))
	in.Buffer(nil, maxSummary)
	for number := 1; in.Scan() && !s.invalid; number++ {
		if err := s.take(in.Text()); err != nil {
			return s, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return s, in.Err()
}

func (s *summaryScore) take(line string) error {
	_, value, hasValue := strings.Cut(line, ": ")
	value = strings.TrimSpace(value)
	percentile, rate := percentileLines[s.scenario], rateLines[s.scenario]
	matched := true
	switch {
	case strings.HasPrefix(line, "Scenario"):
		s.scenario = value
	case percentile != nil && percentile.MatchString(line):
		latencyNS, err := pyrepr.ParseFloat(value)
		if err != nil || latencyNS == 0 {
			return fmt.Errorf("the latency %.40q has no rate", value)
		}
		s.score = pyrepr.Float(1e9 / latencyNS)
	case rate != "" && strings.HasPrefix(line, rate):
		s.score = value
	case strings.HasPrefix(line, "Result is"):
		s.invalid = value == "INVALID"
	default:
		matched = false
		if n, ok := errorsLine(line); ok {
			s.errors = append(s.errors, n)
		}
	}
	if matched && !hasValue {
		return fmt.Errorf("%.100q has no value", line)
	}
	return nil
}

// errorsLine finds the number that begins LoadGen's line about its errors.
func errorsLine(line string) (string, bool) {
	count, rest, ok := strings.Cut(line, " ")
	if _, err := strconv.ParseUint(count, 10, 64); err != nil {
		return "", false
	}
	return count, ok && strings.HasPrefix(rest, "ERROR")
}
