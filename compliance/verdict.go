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

// VerdictName is the name of the file with the Verdict of a Result, next to the test's folder.
const VerdictName = "verdict.json"

// Verdict is a Result without its files.
type Verdict struct {
	Test      string         `json:"test"`
	Pass      bool           `json:"pass"` // verdict of the official script
	OK        bool           `json:"ok"`   // whether Pass is set and the strict checks have no fatal finding
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
	return atomicfile.WriteJSON(filepath.Join(folder, VerdictName), v) // replaces a link, never follows it
}

// maxVerdict is the maximum size of a verdict file in bytes. Verdicts are small, because repeated findings are only
// counted.
const maxVerdict = 1 << 20

// ReadVerdict reads the verdict that Keep wrote into a folder.
func ReadVerdict(folder string) (Verdict, error) {
	var v Verdict
	f, err := atomicfile.OpenBelow(folder, VerdictName)
	if err != nil {
		return v, fmt.Errorf("the audit was run, but not verified: %w", err)
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

// Why describes the reasons of a failed verdict.
func (v Verdict) Why() string {
	var reasons []string
	if !v.Pass {
		reasons = append(reasons, "the official verification fails")
	}
	for _, f := range v.Strict {
		if f.Severity == Fatal {
			reasons = append(reasons, f.Code+": "+f.Text)
		}
	}
	return v.Test + ": " + strings.Join(reasons, "; ")
}
