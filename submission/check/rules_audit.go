package check

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// auditRules look at the compliance tests of the benchmark (docs/reference/submission-rules.md#audit-results). Open has
// none.
var auditRules = []Rule{
	{ID: "audit-folder", Class: Audit, Severity: Error, level: resultLevel, when: []condition{byLoadGen, enforced},
		Advice: "run the audit", look: auditFolder},
	{ID: "audit-text", Class: Audit, Severity: Error, level: resultLevel, when: []condition{byLoadGen, enforced},
		Advice: "verify the audit's run", look: auditText},
	{ID: "audit-result", Class: Audit, Severity: Error, level: resultLevel, when: []condition{byLoadGen, enforced},
		Advice: "look into the text for what failed, and repeat the audit", look: auditResult},
	{ID: "audit-skipped", Class: Audit, Severity: Error, Strict: true, level: resultLevel,
		when:   []condition{byLoadGen, enforced},
		Advice: "verify the audit's run under its own scenario: only Offline has no first token to compare",
		look:   auditSkipped},
	{ID: "audit-log", Class: Audit, Severity: Error, Strict: true, level: resultLevel,
		when:   []condition{byLoadGen, enforced},
		Advice: "put the whole log there that the text was written about; if it is that one, repeat the audit",
		look:   auditLog(compliance.Fatal)},
	{ID: "audit-log-notes", Class: Audit, Severity: Warning, Strict: true, level: resultLevel,
		when:   []condition{byLoadGen, enforced},
		Advice: "look into the log: no official tool asks, a reviewer may", look: auditLog(compliance.Warning)},
	{ID: "audit-files", Class: Audit, Severity: Warning, Strict: true, level: resultLevel,
		when:   []condition{byLoadGen, enforced},
		Advice: "put the verification's whole output there: no tool asks for it, a reviewer may", look: auditFiles},
}

// audit is one compliance test: where its verdict stands, and the lines that must be in it.
type audit struct {
	text  string
	lines [][]string // of each group one must be there as a whole line
	words string     // or this anywhere
	files []string   // what the verification leaves beside it
}

// cutLog are the files of an audit whose accuracy log is truncated.
var cutLog = []string{"accuracy/" + mllog.AccuracyName, "accuracy/" + layout.ScoreFile,
	layout.PerformanceRun + "/" + mllog.DetailName, layout.PerformanceRun + "/" + mllog.SummaryName}

const tokenSkipped = "First token check pass: Skipped"

var audits = map[string]audit{
	"TEST06": {text: "verify_accuracy.txt", lines: [][]string{
		{"First token check pass: True", tokenSkipped}, {"EOS check pass: True"}, {"Sample length check pass: True"}},
		files: []string{"accuracy/" + mllog.AccuracyName}},
	"TEST07": {text: "verify_accuracy.txt", words: "TEST PASS", files: cutLog},
	"TEST09": {text: "verify_output_len.txt", words: "TEST PASS", files: cutLog},
}

// eachAudit gives the benchmark's audits with their folders.
func (s *scope) eachAudit(do func(name, folder string, a audit)) {
	if s.model() == nil {
		return
	}
	for _, name := range s.model().Audits {
		if a, ok := audits[name]; ok {
			do(name, s.place().Audit(name), a)
		}
	}
}

func auditFolder(s *scope, breach say) {
	s.eachAudit(func(name, folder string, _ audit) {
		if _, ok := s.files.size(folder); !ok {
			breach(folder, name, "no such folder", "the audit "+name)
		}
	})
}

func auditText(s *scope, breach say) {
	s.eachAudit(func(name, folder string, a audit) {
		file := path.Join(folder, a.text)
		if _, ok := s.files.size(file); !ok {
			breach(file, name, "no such file", "what the verification wrote")
		}
	})
}

func auditResult(s *scope, breach say) {
	s.eachAudit(func(name, folder string, a audit) {
		file := path.Join(folder, a.text)
		seen, err := s.linesOf(file, a)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return
		case err != nil:
			breach(file, name, err, "a text that can be read")
			return
		}
		for _, group := range a.lines {
			if !anyOf(seen, group) {
				breach(file, name, "no such line", strings.Join(group, " or "))
			}
		}
		if a.words != "" && !seen[a.words] {
			breach(file, name, "no "+a.words, a.words)
		}
	})
}

func auditSkipped(s *scope, breach say) {
	if canonical(s.name) == "Offline" {
		return
	}
	s.eachAudit(func(name, folder string, a audit) {
		file := path.Join(folder, a.text)
		if seen, err := s.linesOf(file, a); err == nil && seen[tokenSkipped] {
			breach(file, name, tokenSkipped, a.lines[0][0])
		}
	})
}

func auditFiles(s *scope, breach say) {
	s.eachAudit(func(name, folder string, a audit) {
		if _, ok := s.files.size(folder); !ok {
			return // another rule's
		}
		for _, f := range a.files {
			if _, ok := s.files.plainSize(path.Join(folder, f)); !ok {
				breach(path.Join(folder, f), name, "no such file", f)
			}
		}
	})
}

// deniesText are the findings about a log under which the official script could not have written a text that passes.
var deniesText = map[string]bool{"log_broken": true, "no_records": true, "token_count": true,
	"first_token_differs": true, "first_token_missing": true, "record_broken": true}

// auditLog reads the log of TEST06 itself: its text may hide that there is none. It reports what denies the text as
// Fatal, else the rest, each kind of finding once.
func auditLog(severity compliance.Severity) func(*scope, say) {
	return func(s *scope, breach say) {
		s.eachAudit(func(name, folder string, _ audit) {
			file := path.Join(folder, layout.Accuracy, mllog.AccuracyName)
			if name != compliance.Test06 {
				return
			}
			findings := s.test06Log(file)
			for _, f := range findings {
				if deniesText[f.Code] == (severity == compliance.Fatal) {
					breach(file, f.Code, f.Words(), nil)
				}
			}
		})
	}
}

// test06Log is read once for a scenario folder.
func (s *scope) test06Log(file string) []compliance.Finding {
	if s.result.test06 != nil {
		return s.result.test06
	}
	s.result.test06 = []compliance.Finding{}
	f, err := s.files.open(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // another rule's
	case err != nil:
		s.result.test06 = append(s.result.test06, compliance.Finding{Code: "log_broken", Text: err.Error()})
		return s.result.test06
	}
	defer f.Close()
	r, encoding := compliance.ReadTest06(io.LimitReader(f, maxLog), file, models.Scenario(canonical(s.name)),
		s.model().row)
	if s.result.test06 = r.Strict; encoding != compliance.Int32 {
		s.result.test06 = append(s.result.test06, compliance.Finding{Code: "encoding",
			Text: fmt.Sprintf("the answers are %s, not the official script's default", encoding)})
	}
	return s.result.test06
}

func anyOf(seen map[string]bool, lines []string) bool {
	for _, l := range lines {
		if seen[l] {
			return true
		}
	}
	return false
}

// linesOf streams an audit's text and says which of the lines it asks for are there.
func (s *scope) linesOf(name string, a audit) (map[string]bool, error) {
	f, err := s.files.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	asked := map[string]bool{}
	for _, group := range a.lines {
		for _, l := range group {
			asked[l] = true
		}
	}
	seen := map[string]bool{}
	in := bufio.NewScanner(io.LimitReader(f, maxText))
	in.Buffer(nil, maxScoreLine)
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		if asked[line] {
			seen[line] = true
		}
		if a.words != "" && strings.Contains(line, a.words) {
			seen[a.words] = true
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("it can not be read as text: %w", err)
	}
	return seen, nil
}
