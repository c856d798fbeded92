package check

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// patterns match the line of a metric in accuracy.txt (docs/reference/scoring-rules.md#printed-results).
var patterns = map[string]*regexp.Regexp{
	"ROUGE1":            regexp.MustCompile(`^.*'rouge1':\s+'?([\d.]+)'?.*`),
	"ROUGE2":            regexp.MustCompile(`^.*'rouge2':\s+'?([\d.]+)'?.*`),
	"ROUGEL":            regexp.MustCompile(`^.*'rougeL':\s+'?([\d.]+)'?.*`),
	"ROUGELSUM":         regexp.MustCompile(`^.*'rougeLsum':\s+'?([\d.]+)'?.*`),
	"GEN_LEN":           regexp.MustCompile(`^.*'gen_len':\s([\d.]+).*`),
	"TOKENS_PER_SAMPLE": regexp.MustCompile(`^.*'tokens_per_sample':\s([\d.]+).*`),
	"exact_match":       regexp.MustCompile(`^.*'exact_match':\s([\d.]+).*`),
	"gsm8k_accuracy":    regexp.MustCompile(`^.*'gsm8k':\s([\d.]+).*`),
	"mbxp_accuracy":     regexp.MustCompile(`^.*'mbxp':\s([\d.]+).*`),
	"F1_HIERARCHICAL":   regexp.MustCompile(`^\{.*"f1":\s*([\d.]+).*\}`),
	"mAP":               regexp.MustCompile(`^.*(?:mAP=|'Total':)\s*([\d.]+)`),
	"E2E_ACCURACY":      regexp.MustCompile(`^Accuracy:\s*([\d.]+)`),
}

// corpusMetrics are metrics of the answers' length, which only the whole data set can reach.
var corpusMetrics = map[string]bool{"GEN_LEN": true, "TOKENS_PER_SAMPLE": true}

var hashLine = regexp.MustCompile(`^hash=(\w+)$`)

// notJudgedLine begins the line with which package accuracy states that the scores are compared with no target.
const notJudgedLine = "not judged: "

// scores is the content of accuracy.txt.
type scores struct {
	path   string
	absent bool
	err    error
	found  map[string]string // metric → last value, as text
	order  []string          // keys of found in the order of their first line
	passed map[string]bool   // metrics that reached their target in some line
	low    []breach
	high   []breach
	hash   string
	// notJudged: the scorer states that the scores are compared with no target
	notJudged bool
}

type breach struct {
	metric string
	found  string
	bound  float64
}

const maxScoreLine = 4 << 20

// readScores reads the benchmark's metrics. Like the official checker, it stops at the first line after which every
// metric has passed and the hash is known. A metric that fails in one line fails, even if it passes in a later one.
func (c *checker) readScores(name string, s *scope) *scores {
	t := &scores{path: name, found: map[string]string{}, passed: map[string]bool{}}
	f, err := c.files.open(name)
	if err != nil {
		t.err, t.absent = err, errors.Is(err, fs.ErrNotExist)
		return t
	}
	defer f.Close()
	var low, high targets
	if b := s.model(); b != nil {
		low, high = b.atLeast(canonical(s.name)), b.AtMost
	}
	in := bufio.NewScanner(io.LimitReader(f, maxText))
	in.Buffer(nil, maxScoreLine)
	for t.err == nil && in.Scan() {
		for line := range strings.SplitSeq(strings.TrimSuffix(in.Text(), "\r"), "\r") {
			t.take(line, low, high)
		}
		if t.complete(low) {
			return t
		}
	}
	if t.err == nil {
		t.err = in.Err()
	}
	return t
}

func (t *scores) complete(low targets) bool {
	for _, l := range low {
		if !t.passed[l.Metric] {
			return false
		}
	}
	return t.hash != ""
}

func (t *scores) take(line string, low, high targets) {
	if m := hashLine.FindStringSubmatch(line); m != nil {
		t.hash = m[1]
	}
	t.notJudged = t.notJudged || strings.HasPrefix(line, notJudgedLine)
	for _, l := range low {
		text, value, ok := t.value(l.Metric, line)
		if !ok {
			continue
		}
		t.put(l.Metric, text)
		if value >= l.Bound {
			t.passed[l.Metric] = true
		} else {
			t.low = append(t.low, breach{l.Metric, text, l.Bound})
		}
	}
	for _, h := range high {
		if text, value, ok := t.value(h.Metric, line); ok && value > h.Bound {
			t.high = append(t.high, breach{h.Metric, text, h.Bound})
		}
	}
}

func (t *scores) put(metric, text string) {
	if _, seen := t.found[metric]; !seen {
		t.order = append(t.order, metric)
	}
	t.found[metric] = text
}

func (t *scores) value(metric, line string) (text string, value float64, ok bool) {
	m := patterns[metric].FindStringSubmatch(line)
	if m == nil {
		return "", 0, false
	}
	value, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.err = fmt.Errorf("the value of %s is not a number: %.40q", metric, m[1])
		return "", 0, false
	}
	return m[1], value, true
}
