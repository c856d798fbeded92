package main

import (
	"fmt"
	"io"
	"os/exec"
	"path"
	"strings"
)

// commit is one commit of the log and the files that it touches.
type commit struct {
	hash, subject string
	files         []string
}

// chapters are the headings of a changelog, in their order.
var chapters = []string{"Changes", "Documentation", "Tests and build"}

// writeChangelog writes the commits of the repository at dir since the tag before VERSION, newest first.
func writeChangelog(dir, version string, w io.Writer) error {
	when, err := released()
	if err != nil {
		return err
	}
	span, since := []string{"HEAD"}, "the beginning"
	before, err := git(dir, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "--exclude", version, "HEAD")
	if err == nil {
		since = strings.TrimSpace(before)
		span = []string{since + "..HEAD"}
	} // without an earlier tag, everything is new
	log, err := git(dir, append([]string{"log", "--no-merges", "--name-only", "--format=%x00%h%x01%s%x01"}, span...)...)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "# mlperf-go %s\n\n%s, since %s.\n", version, when.Format("2006-01-02"), since)
	lines := map[string][]string{}
	for _, c := range parseLog(log) {
		lines[c.chapter()] = append(lines[c.chapter()], fmt.Sprintf("- %s (%s)", c.subject, c.hash))
	}
	for _, chapter := range chapters {
		if len(lines[chapter]) > 0 {
			fmt.Fprintf(w, "\n## %s\n\n%s\n", chapter, strings.Join(lines[chapter], "\n"))
		}
	}
	return nil
}

// parseLog reads records of "NUL hash SOH subject SOH files, one a line".
func parseLog(log string) []commit {
	var commits []commit
	for record := range strings.SplitSeq(log, "\x00") {
		parts := strings.SplitN(record, "\x01", 3)
		if len(parts) == 3 {
			commits = append(commits, commit{parts[0], parts[1], strings.Fields(parts[2])})
		}
	}
	return commits
}

// chapter returns the heading of a commit: one that touches the program at all belongs to the changes.
func (c commit) chapter() string {
	best := len(chapters) - 1
	for _, f := range c.files {
		switch {
		case strings.HasSuffix(f, ".md"), strings.HasPrefix(f, "docs/"):
			best = min(best, 1)
		case isForTests(f):
		default:
			best = 0
		}
	}
	return chapters[best]
}

func isForTests(file string) bool {
	return strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") ||
		strings.HasPrefix(file, "scripts/") || strings.HasPrefix(file, ".") || strings.HasPrefix(file, "tools/") ||
		strings.HasPrefix(file, "internal/arch/") || path.Base(file) == "Makefile"
}

func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}
