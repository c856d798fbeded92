package accuracy

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// checkerPatterns contains, for each metric, the submission checker's name for it and the pattern that the checker
// matches at the start of a line (docs/reference/scoring-rules.md#printed-results).
var checkerPatterns = map[string]struct {
	name    string
	pattern *regexp.Regexp
}{
	"rouge1":    {"ROUGE1", regexp.MustCompile(`^.*'rouge1':` + spaceClass + `+'?([\p{Nd}.]+)'?.*`)},
	"rouge2":    {"ROUGE2", regexp.MustCompile(`^.*'rouge2':` + spaceClass + `+'?([\p{Nd}.]+)'?.*`)},
	"rougeL":    {"ROUGEL", regexp.MustCompile(`^.*'rougeL':` + spaceClass + `+'?([\p{Nd}.]+)'?.*`)},
	"rougeLsum": {"ROUGELSUM", regexp.MustCompile(`^.*'rougeLsum':` + spaceClass + `+'?([\p{Nd}.]+)'?.*`)},
	"gen_len":   {"GEN_LEN", regexp.MustCompile(`^.*'gen_len':` + spaceClass + `([\p{Nd}.]+).*`)},
	"tokens_per_sample": {"TOKENS_PER_SAMPLE", regexp.MustCompile(`^.*'tokens_per_sample':` + spaceClass +
		`([\p{Nd}.]+).*`)},
	"gsm8k":       {"gsm8k_accuracy", regexp.MustCompile(`^.*'gsm8k':` + spaceClass + `([\p{Nd}.]+).*`)},
	"mbxp":        {"mbxp_accuracy", regexp.MustCompile(`^.*'mbxp':` + spaceClass + `([\p{Nd}.]+).*`)},
	"exact_match": {"exact_match", regexp.MustCompile(`^.*'exact_match':` + spaceClass + `([\p{Nd}.]+).*`)},
	"f1":          {"F1_HIERARCHICAL", regexp.MustCompile(`^\{.*"f1":` + spaceClass + `*([\p{Nd}.]+).*\}`)},
	"mAP":         {"mAP", regexp.MustCompile(`^.*(?:mAP=|'Total':)` + spaceClass + `*([\p{Nd}.]+)`)},
}

var hashLine = regexp.MustCompile(`^hash=([\pL\pN_]+)$`)

// Checked is what the submission checker finds in an accuracy.txt.
type Checked struct {
	Valid  bool
	Values map[string]string // last text of each metric, by the checker's name for the metric
	Hash   string
	Why    []string // one sentence per failure
}

// maxAccuracyLine is the maximum length of a line in accuracy.txt.
const maxAccuracyLine = 1 << 20

// CheckText reads an accuracy.txt like the checker. It ignores targets of metrics that the checker does not look for.
// In the open division no target must be reached.
func CheckText(r io.Reader, targets []Target, open bool) (Checked, error) {
	c := Checked{Values: map[string]string{}}
	targets = slices.DeleteFunc(slices.Clone(targets),
		func(t Target) bool { return checkerPatterns[t.Metric].pattern == nil })
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAccuracyLine)
	for lines.Scan() && !c.sawAll(targets) {
		c.line(lines.Text(), targets)
	}
	if err := lines.Err(); err != nil {
		return c, fmt.Errorf("reading the accuracy text: %w", err)
	}
	for _, t := range targets {
		if name := checkerPatterns[t.Metric].name; !t.Optional && c.Values[name] == "" {
			c.fail("%s was not found", name)
		}
	}
	if c.Hash == "" {
		c.fail("no hash line (truncation adds it)")
	}
	c.Valid = len(c.Why) == 0 || (open && c.Hash != "")
	return c, nil
}

func (c *Checked) fail(format string, args ...any) {
	c.Why = append(c.Why, fmt.Sprintf(format, args...))
}

// sawAll reports whether the checker stops reading.
func (c *Checked) sawAll(targets []Target) bool {
	return c.Hash != "" && len(c.Why) == 0 && !slices.ContainsFunc(targets, func(t Target) bool {
		return !t.Optional && c.Values[checkerPatterns[t.Metric].name] == ""
	})
}

func (c *Checked) line(line string, targets []Target) {
	for _, t := range targets {
		p := checkerPatterns[t.Metric]
		m := p.pattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		c.Values[p.name] = m[1]
		v, err := strconv.ParseFloat(m[1], 64)
		switch {
		case err != nil:
			c.fail("%s is %s, which is not a number", p.name, m[1])
		case v < t.Min:
			c.fail("%s is %s, below the target %s", p.name, m[1], pyrepr.Float(t.Min))
		case t.Max > 0 && v > t.Max:
			c.fail("%s is %s, above the limit %s", p.name, m[1], pyrepr.Float(t.Max))
		}
	}
	if m := hashLine.FindStringSubmatch(line); m != nil {
		c.Hash = m[1]
	}
}
