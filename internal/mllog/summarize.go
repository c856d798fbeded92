package mllog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// The names of LoadGen's files in its default settings.
const (
	DetailName   = "mlperf_log_detail.txt"
	SummaryName  = "mlperf_log_summary.txt"
	AccuracyName = "mlperf_log_accuracy.json"
	TraceName    = "mlperf_log_trace.json"
)

// AuditTaken is the beginning of the warning that LoadGen logs when it applies an audit configuration
// (docs/reference/loadgen.md#audit-configuration).
const AuditTaken = "Found Audit Config file"

// Text is a message of the detail log with its number of occurrences.
type Text struct {
	Key   string `json:"key"`
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// Result is the content of LoadGen's files about one test.
type Result struct {
	Valid *bool `json:"valid"` // LoadGen's verdict; nil: no verdict, for example in accuracy mode
	// whether every file has its beginning, its end and every mandatory entry
	Complete bool              `json:"complete"`
	Missing  []string          `json:"missing,omitempty"`
	Errors   int               `json:"errors"`   // number of entries marked as errors
	Warnings int               `json:"warnings"` // number of entries marked as warnings
	Result   map[string]any    `json:"result"`   // result keys of the detail log; the first value if there are several
	Verdict  map[string]string `json:"verdict"`  // verdict lines of the summary, such as "Result is": "VALID"

	ErrorTexts   []Text `json:"error_texts,omitempty"`   // distinct error messages, at most maxTexts
	WarningTexts []Text `json:"warning_texts,omitempty"` // distinct warnings, at most maxTexts
	Detail       Detail `json:"-"`

	seen map[string]int // number of occurrences of each mandatory key in the detail log
}

// maxTexts is the maximum number of distinct messages that are kept.
const maxTexts = 20

// maxText is the maximum length of a kept message in bytes, because a hostile log may contain very long messages.
const maxText = 4 << 10

// resultPrefixes are the prefixes of the keys that Result keeps.
var resultPrefixes = []string{
	"result_", "effective_", "early_stopping", "requested_", "generated_", "qsl_reported_", "power_",
	"loadgen_version", "loadgen_git", "test_datetime", "sut_name", "qsl_name", "num_errors",
}

// Summarize reads the detail log, the summary and the accuracy log in dir. It lists absent and incomplete files in
// Missing. A folder with neither detail log nor summary is an error (fs.ErrNotExist).
func Summarize(dir string) (*Result, error) {
	r := &Result{Result: map[string]any{}, Verdict: map[string]string{}, seen: map[string]int{}}
	detailErr := r.readDetail(filepath.Join(dir, DetailName))
	summaryErr := r.readSummary(filepath.Join(dir, SummaryName))
	if errors.Is(detailErr, fs.ErrNotExist) && errors.Is(summaryErr, fs.ErrNotExist) {
		return nil, fmt.Errorf("no LoadGen log in %s: %w", dir, detailErr)
	}
	for _, err := range []error{detailErr, summaryErr, r.checkAccuracy(filepath.Join(dir, AccuracyName))} {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.Missing = append(r.Missing, err.Error())
		case err != nil:
			return nil, err
		}
	}
	r.Complete = len(r.Missing) == 0
	r.judge()
	return r, nil
}

func (r *Result) missing(format string, args ...any) {
	r.Missing = append(r.Missing, fmt.Sprintf(format, args...))
}

func (r *Result) readDetail(path string) error {
	detail, err := ReadDetailFile(path, func(e *Entry) error {
		r.take(e)
		return nil
	})
	if err != nil {
		return err
	}
	r.Detail = detail
	switch {
	case detail.Lines == 0:
		r.missing("%s has no entry", path)
	case detail.Truncated:
		r.missing("the last line of %s is incomplete", path)
	}
	if keys := r.lacking(); detail.Lines > 0 && len(keys) > 0 {
		r.missing("%s lacks %s that LoadGen always writes: %s", path, plural.Count(len(keys), "entry", "entries"),
			shortList(keys))
	}
	if begun, ended := r.seen[seriesBegin], r.seen[seriesEnd]; ended < begun {
		r.missing("%s records %d series of queries and only %s", path, begun,
			plural.Count(ended, "end", "ends"))
	}
	if detail.NULs > 0 {
		r.missing("%s has NUL bytes: it was truncated while LoadGen wrote it", path)
	} else if detail.Foreign > 0 {
		r.missing("%s has %s that LoadGen did not write, the first is line %d", path,
			plural.Count(detail.Foreign, "line", "lines"),
			detail.FirstForeign)
	}
	// LoadGen also counts lines from before the file was opened, which may never reach the file
	// (docs/reference/loadgen.md#configuration-files).
	if counted, ok := r.Result["num_errors"].(int64); ok {
		r.Errors = max(r.Errors, int(counted))
	}
	if detail.Broken > 0 {
		r.missing("%s has %s, the first is line %d", path,
			plural.Count(detail.Broken, "unreadable line", "unreadable lines"), detail.FirstBroken)
	}
	return nil
}

func (r *Result) take(e *Entry) {
	if e.IsError {
		r.Errors++
		r.ErrorTexts = addText(r.ErrorTexts, e)
	}
	if e.IsWarning {
		r.Warnings++
		r.WarningTexts = addText(r.WarningTexts, e)
	}
	if isMandatory[e.Key] {
		r.seen[e.Key]++
	}
	if !wanted(e.Key) || len(e.Value) > maxText {
		return
	}
	if _, seen := r.Result[e.Key]; !seen {
		r.Result[e.Key] = e.Value.Any()
	}
}

func wanted(key string) bool {
	for _, p := range resultPrefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

func addText(texts []Text, e *Entry) []Text {
	text := foreign.Line(e.Value.Text(), maxText)
	for i := range texts {
		if texts[i].Key == e.Key && texts[i].Text == text {
			texts[i].Count++
			return texts
		}
	}
	if len(texts) == maxTexts {
		return texts
	}
	return append(texts, Text{Key: e.Key, Text: text, Count: 1})
}

// verdictLabels contains the labels of the summary's lines that form the verdict.
var verdictLabels = []string{
	"Result is", "Performance constraints satisfied", "Min duration satisfied", "Min queries satisfied",
	"Early stopping satisfied",
}

// footers lists the possible endings of the summary's last line. A number may precede them.
var footers = []string{
	"No errors encountered during test.", "ERROR encountered. See detailed log.", "ERRORS encountered. See detailed log.",
}

// maxSummary is the maximum size of the summary in bytes. LoadGen's summaries have about a hundred lines.
const maxSummary = 4 << 20

func (r *Result) readSummary(path string) error {
	f, err := openLog(path)
	if err != nil {
		return fmt.Errorf("reading LoadGen's summary %s: %w", path, err)
	}
	defer f.Close()
	in := bufio.NewScanner(io.LimitReader(f, maxSummary))
	in.Buffer(nil, maxSummary)
	last, nul := "", false
	for in.Scan() {
		nul = nul || bytes.IndexByte(in.Bytes(), 0) >= 0
		line := strings.TrimSpace(in.Text())
		if line == "" {
			continue
		}
		last = line
		label, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		r.takeVerdict(strings.TrimSpace(label), strings.TrimSpace(value))
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("reading LoadGen's summary %s: %w", path, err)
	}
	if nul {
		r.missing("%s has NUL bytes: it was truncated while LoadGen wrote it", path)
	}
	if r.performs() && r.Verdict[verdictLabels[0]] == "" {
		r.missing("%s has no verdict, but the test is a performance test", path)
	}
	for _, end := range footers {
		if strings.HasSuffix(last, end) {
			counted, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(last, end))) // without a number there are no errors
			r.Errors = max(r.Errors, counted)
			return nil
		}
	}
	r.missing("%s does not end with the count of errors", path)
	return nil
}

func (r *Result) takeVerdict(label, value string) {
	for _, known := range verdictLabels {
		if label == known {
			if _, seen := r.Verdict[label]; !seen {
				r.Verdict[label] = value
			}
		}
	}
}

// accuracyEdge is the number of bytes at each end of the file that checkAccuracy searches for a bracket.
const accuracyEdge = 64

// checkAccuracy requires brackets around the accuracy log and no NUL byte between them.
func (r *Result) checkAccuracy(path string) error {
	f, err := openLog(path)
	if err != nil {
		return fmt.Errorf("reading LoadGen's accuracy log %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	var head, tail []byte
	if err == nil {
		head, err = io.ReadAll(io.NewSectionReader(f, 0, accuracyEdge))
	}
	if err == nil {
		tail, err = io.ReadAll(io.NewSectionReader(f, max(info.Size()-accuracyEdge, 0), accuracyEdge))
	}
	nul := false
	if err == nil {
		nul, err = hasNUL(f)
	}
	switch {
	case err != nil:
		return fmt.Errorf("reading LoadGen's accuracy log %s: %w", path, err)
	case nul:
		r.missing("%s has NUL bytes: it was truncated while LoadGen wrote it", path)
	case !bytes.HasSuffix(bytes.TrimSpace(tail), []byte("]")):
		r.missing("%s does not end with ]", path)
	case !bytes.HasPrefix(bytes.TrimSpace(head), []byte("[")):
		r.missing("%s does not begin with [", path)
	}
	return nil
}

// shortList joins the first few words and abbreviates the rest.
func shortList(words []string) string {
	const shown = 3
	if len(words) <= shown {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:shown], ", ") + ", ..."
}

// judge sets Valid if the files contain a verdict. The test is valid only if all their verdicts are VALID.
func (r *Result) judge() {
	inSummary, summarized := r.Verdict["Result is"]
	inDetail, detailed := r.Result["result_validity"]
	if !summarized && !detailed {
		return
	}
	valid := (!summarized || inSummary == "VALID") && (!detailed || inDetail == "VALID")
	r.Valid = &valid
}
