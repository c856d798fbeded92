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

// auditRules check the compliance tests of the benchmark (docs/reference/submission-rules.md#audit-results). The open
// division has none.
var auditRules = atLevel(resultLevel,
	Rule{ID: "audit-folder", Class: Audit, when: []condition{byLoadGen, enforced}, check: auditFolder,
		Advice: "run the audit"},
	Rule{ID: "audit-text", Class: Audit, when: []condition{byLoadGen, enforced}, check: auditText,
		Advice: "verify the audit's run"},
	Rule{ID: "audit-result", Class: Audit, when: []condition{byLoadGen, enforced}, check: auditResult,
		Advice: "see the text for the check that failed, and repeat the audit"},
	Rule{ID: "audit-skipped", Class: Audit, Strict: true, when: []condition{byLoadGen, enforced}, check: auditSkipped,
		Advice: "verify the audit's run under its own scenario: only Offline has no first token to compare"},
	Rule{ID: "audit-log", Class: Audit, Strict: true, when: []condition{byLoadGen, enforced},
		check:  auditLog(compliance.Fatal),
		Advice: "put the whole log there that the text was written about; if it is that one, repeat the audit"},
	Rule{ID: "audit-log-notes", Class: Audit, Severity: Warning, Strict: true, when: []condition{byLoadGen, enforced},
		check:  auditLog(compliance.Warning),
		Advice: "read the log: no official tool checks this, but a reviewer may"},
	Rule{ID: "audit-files", Class: Audit, Severity: Warning, Strict: true, when: []condition{byLoadGen, enforced},
		check:  auditFiles,
		Advice: "put the verification's whole output there: no tool requires it, but a reviewer may"},
)

// audit describes the verdict of one compliance test.
type audit struct {
	text  string     // file of the verdict
	lines [][]string // one line of each group must be in it
	words string     // or this text anywhere
	files []string   // other files that the verification writes
}

// cutLog lists the files of an audit with a truncated accuracy log.
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

// eachAudit calls do for the benchmark's audits and their folders.
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

func auditFolder(s *scope, breach breachFunc) {
	s.eachAudit(func(name, folder string, _ audit) {
		if _, ok := s.files.size(folder); !ok {
			breach(folder, name, "no such folder", "the audit "+name)
		}
	})
}

func auditText(s *scope, breach breachFunc) {
	s.eachAudit(func(name, folder string, a audit) {
		file := path.Join(folder, a.text)
		if _, ok := s.files.size(file); !ok {
			breach(file, name, "no such file", "the verification's output")
		}
	})
}

func auditResult(s *scope, breach breachFunc) {
	s.eachAudit(func(name, folder string, a audit) {
		file := path.Join(folder, a.text)
		seen, err := a.linesIn(&s.files, file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return
		case err != nil:
			breach(file, name, err, "a readable text")
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

func auditSkipped(s *scope, breach breachFunc) {
	if canonical(s.name) == "Offline" {
		return
	}
	s.eachAudit(func(name, folder string, a audit) {
		file := path.Join(folder, a.text)
		if seen, err := a.linesIn(&s.files, file); err == nil && seen[tokenSkipped] {
			breach(file, name, tokenSkipped, a.lines[0][0])
		}
	})
}

func auditFiles(s *scope, breach breachFunc) {
	s.eachAudit(func(name, folder string, a audit) {
		if _, ok := s.files.size(folder); !ok {
			return // reported by another rule
		}
		for _, f := range a.files {
			if _, ok := s.files.plainSize(path.Join(folder, f)); !ok {
				breach(path.Join(folder, f), name, "no such file", f)
			}
		}
	})
}

// deniesText lists the findings about a log with which the official script could not have written a passing text.
var deniesText = map[string]bool{"log_broken": true, "no_records": true, "token_count": true,
	"first_token_differs": true, "first_token_missing": true, "record_broken": true}

// auditLog checks the log of TEST06, because its text may exist without one. With Fatal it reports the findings that
// deny the text, otherwise the other ones.
func auditLog(severity compliance.Severity) func(*scope, breachFunc) {
	return func(s *scope, breach breachFunc) {
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

// test06Log returns the findings about the log of TEST06. The log is read once per scenario folder.
func (s *scope) test06Log(file string) []compliance.Finding {
	if s.result.test06 != nil {
		return s.result.test06
	}
	s.result.test06 = []compliance.Finding{}
	f, err := s.files.open(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // reported by another rule
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

// linesIn streams an audit's text and returns which of the required lines it has.
func (a audit) linesIn(in *files, name string) (map[string]bool, error) {
	f, err := in.open(name)
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
	lines := bufio.NewScanner(io.LimitReader(f, maxText))
	lines.Buffer(nil, maxScoreLine)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if asked[line] {
			seen[line] = true
		}
		if strings.Contains(line, a.words) {
			seen[a.words] = true
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("it cannot be read as text: %w", err)
	}
	return seen, nil
}
