package tree

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// readme returns a scenario's README.md, which explains how to repeat its runs.
func (b *builder) readme(s *scenario) []byte {
	var t strings.Builder
	fmt.Fprintf(&t, "# %s, %s\n\n", s.benchmark, s.place.Name)
	b.mark(&t, s)
	r := s.test(layout.Performance).record
	fmt.Fprintf(&t, "Measured with mlperf-go %s on the official LoadGen %s (revision %s), round %s.\n\n", r.Tool.Version,
		r.Tool.LoadGen, r.Tool.LoadGenRevision, b.round.Name)
	fmt.Fprintf(&t, "## System under test\n\n- served model: %s\n- inference server: %s\n", r.ServedModel,
		cmp.Or(b.campaign.framework(s.test(layout.Performance)), "see the system description"))
	fmt.Fprintf(&t, "- data set: %d samples, SHA-256 %s\n", r.Dataset.Samples, r.Dataset.SHA256)
	fmt.Fprintf(&t, "- sampling: %s\n\n", sampling(r))
	t.WriteString("## Commands\n\nEach test is a separate process; its complete settings are in the code folder's " +
		"configs.\n")
	for _, test := range s.tests {
		fmt.Fprintf(&t, "\n%s:\n\n    %s\n", test.leaf.Test, command(test.record.Command))
	}
	if words := strings.TrimSpace(b.words.Readme); words != "" {
		t.WriteString("\n## Notes\n\n" + words)
	}
	return paragraph(t.String())
}

// mark states in a document that it belongs to a rehearsal, and why.
func (b *builder) mark(t *strings.Builder, s *scenario) {
	if !b.rehearsal() {
		return
	}
	t.WriteString("**This is a rehearsal and not for submission.**")
	for _, test := range s.tests {
		if test.rehearsal {
			fmt.Fprintf(t, "\n- %s: %s", test.leaf.Test,
				cmp.Or(strings.Join(test.record.RehearsalReasons, "; "), "its audit was scaled down"))
		}
		for _, breach := range test.record.Breaches {
			fmt.Fprintf(t, "\n- %s: %s", test.leaf.Test, breach.Text())
		}
	}
	t.WriteString("\n\n")
}

func sampling(r *record.Record) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(r.Sampling)) {
		parts = append(parts, fmt.Sprintf("%s %v", key, r.Sampling[key]))
	}
	return cmp.Or(strings.Join(parts, ", "), "the server's")
}

// command formats arguments for a shell.
func command(args []string) string {
	if len(args) == 0 {
		return "(started from code)"
	}
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// codeReadme returns the README.md of the code folder, which describes the client.
func (b *builder) codeReadme(benchmark string) []byte {
	var t strings.Builder
	fmt.Fprintf(&t, "# Code of %s\n\n", benchmark)
	for _, s := range b.scenarios {
		if s.benchmark == benchmark {
			r := s.test(layout.Performance).record
			fmt.Fprintf(&t, "The client is mlperf-go %s, built with %s, with the unmodified official LoadGen %s (revision %s) "+
				"linked in.\n", r.Tool.Version, r.Tool.Go, r.Tool.LoadGen, r.Tool.LoadGenRevision)
			break
		}
	}
	t.WriteString("It sends the prompts of the data set to an inference server over HTTP; `make build` in its " +
		"repository builds it.\n\n" +
		"configs/ contains the effective configuration of each run with the source of each value; `mlperf-go run --config " +
		"FILE` repeats the run.\n")
	if b.words.Source != "" {
		t.WriteString("\nThe other files are the submitter's.\n")
	}
	return paragraph(t.String())
}

// paragraph returns a text with exactly one line break at its end.
func paragraph(text string) []byte { return []byte(strings.TrimRight(text, "\n") + "\n") }

func textHash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
