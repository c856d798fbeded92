package compliance

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// VerdictName is the file, beside the test's own folder, in which a Result is kept for later readers.
const VerdictName = "verdict.json"

// Verdict is what a Result comes to.
type Verdict struct {
	Test      string         `json:"test"`
	Pass      bool           `json:"pass"` // the official script's
	OK        bool           `json:"ok"`   // and nothing fatal in the strict reading
	Rehearsal bool           `json:"rehearsal,omitempty"`
	Strict    []Finding      `json:"strict"`
	Figures   map[string]any `json:"figures"`
}

// Verdict returns the result without its files.
func (r *Result) Verdict() Verdict {
	return Verdict{r.Test, r.Pass, r.OK(), r.Rehearsal, r.Strict, r.Figures}
}

// Keep writes the verdict into a folder.
func (v Verdict) Keep(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("the folder of the verdict cannot be created: %w", err)
	}
	return atomicfile.WriteJSON(filepath.Join(folder, VerdictName), v) // a link of that name is replaced
}

// maxVerdict bounds a verdict's file: findings are counted, not repeated.
const maxVerdict = 1 << 20

// ReadVerdict reads what Keep has left in a folder.
func ReadVerdict(folder string) (Verdict, error) {
	var v Verdict
	f, err := atomicfile.OpenBelow(folder, VerdictName)
	if err != nil {
		return v, fmt.Errorf("the audit was run and not verified: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxVerdict))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return v, fmt.Errorf("the audit's verdict in %s cannot be read: %w", folder, err)
	}
	return v, nil
}

// Why words what is wrong.
func (v Verdict) Why() string {
	var words []string
	if !v.Pass {
		words = append(words, "the official reading fails")
	}
	for _, f := range v.Strict {
		if f.Severity == Fatal {
			words = append(words, f.Code+": "+f.Text)
		}
	}
	return v.Test + ": " + strings.Join(words, "; ")
}
