package check

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// treeRules check names and sizes of files; most come from the older checker
// (docs/reference/submission-rules.md#files-and-names). The first one comes first in reports: a folder that is no tree
// breaks the others in consequence.
var treeRules = []Rule{
	{ID: "no-result", Class: Tree, Strict: true, level: rootLevel, check: noResult,
		Advice: "check the folder that contains closed, open or network, with at least one " +
			"results/<system>/<benchmark>/<scenario>"},
	{ID: "root-folder", Class: Tree, Strict: true, level: rootLevel, check: rootFolders,
		Advice: "move it out of the tree, or below a submitter's folder"},
	{ID: "root-file", Class: Tree, Strict: true, level: rootLevel, check: rootFiles,
		Advice: "move it out of the tree; only .md and .pdf files may lie beside the divisions"},
	{ID: "link-outside", Class: Tree, level: rootLevel, check: linksOutside,
		Advice: "replace the link by the folder: only files inside the tree are read and packed"},
	{ID: "benchmark-not-judged", Class: Tree, Severity: Warning, level: rootLevel, check: benchmarksNotJudged,
		Advice: "check these results with the official checker; --only-known leaves them out"},
	{ID: "too-many-folders", Class: Tree, level: rootLevel, check: tooManyFolders,
		Advice: "check a part of the tree; look for links that lead in a circle"},
	{ID: "division-file", Class: Tree, Strict: true, level: divisionLevel, check: divisionFiles,
		Advice: "move it below a submitter's folder"},
	{ID: "submitter-files", Class: Tree, Strict: true, level: submitterLevel, check: submitterFiles,
		Advice: "rename or remove it: empty folders, broken links, files above 50 MB, hidden names, blanks in names " +
			"and unreadable files are not allowed"},
	{ID: "calibration", Class: Document, Strict: true, level: submitterLevel, when: []condition{enforced},
		check:  calibration,
		Advice: "write documentation/calibration.md: how the weights were quantised, or that they were not"},
	{ID: "system-without-results", Class: Tree, Strict: true, level: submitterLevel, check: systemsWithoutResults,
		Advice: "remove the description, or add the system's results"},
	{ID: "no-system", Class: Tree, Strict: true, level: submitterLevel, check: noSystem,
		Advice: "add results/<system>/<benchmark>/<scenario>, or remove the submitter's folder from this division"},
}

var besideDivisions = []string{".git", ".github", "assets"}

// hasDivision reports whether a folder is a tree: in another one every name would be a fault.
func hasDivision(s *scope) bool {
	return slices.ContainsFunc(s.here.folders, func(name string) bool { return slices.Contains(layout.Divisions(), name) })
}

func rootFolders(s *scope, breach breachFunc) {
	if !hasDivision(s) {
		return
	}
	for _, name := range s.here.folders {
		if !slices.Contains(layout.Divisions(), name) && !slices.Contains(besideDivisions, name) {
			breach(name, "", "a folder "+name, "closed, open or network")
		}
	}
}

func rootFiles(s *scope, breach breachFunc) {
	if s.here.err != nil {
		breach(".", "", s.here.err, "a readable folder")
	}
	if !hasDivision(s) {
		return
	}
	for _, name := range s.here.plain {
		if ext := path.Ext(name); ext != ".md" && ext != ".pdf" {
			breach(name, "", "a file "+name, "*.md or *.pdf")
		}
	}
}

func noResult(s *scope, breach breachFunc) {
	found := false
	s.each(func(d *scope) { found = found || d.level == resultLevel || d.skipped })
	if !found {
		breach(".", "", "no scenario folder", "at least one")
	}
}

// linksOutside reports links that the walk did not follow, because they may hide results.
func linksOutside(s *scope, breach breachFunc) {
	s.each(func(d *scope) {
		for _, name := range d.here.outside {
			breach(path.Join(d.path, name), "", errOutside, "the folder itself")
		}
	})
}

func benchmarksNotJudged(s *scope, breach breachFunc) {
	names := map[string]bool{}
	s.each(func(d *scope) {
		if d.skipped {
			names[d.name] = true
		}
	})
	if len(names) > 0 {
		breach(s.path, "", fmt.Sprintf("%s of %s", plural.Count(s.notJudged(), "result", "results"),
			strings.Join(sortedKeys(names), ", ")),
			"language and vision-language benchmarks")
	}
}

func tooManyFolders(s *scope, breach breachFunc) {
	if s.files.links.Load() > maxLinks {
		breach(".", "", fmt.Sprintf("more than %d links; the rest is not checked", maxLinks), "fewer")
	}
	if s.places > maxFolders {
		breach(".", "", fmt.Sprintf("more than %d submitters, systems, benchmarks and scenarios; the rest is not checked",
			maxFolders), "fewer")
	}
}

func divisionFiles(s *scope, breach breachFunc) {
	for _, name := range s.here.plain {
		breach(path.Join(s.path, name), "", "a file", "only submitters' folders")
	}
}

// maxFileSize is the organisers' limit on the size of a file, in bytes
// (docs/reference/submission-rules.md#files-and-names).
const maxFileSize = 50 << 20

// maxFiles limits the walk over a submitter's files.
const maxFiles = 2_000_000

func submitterFiles(s *scope, breach breachFunc) {
	seen := 0
	err := s.files.walk(s.path, maxFiles+1, func(at found) bool {
		if seen++; seen > maxFiles {
			breach(s.path, "", fmt.Sprintf("more than %d files", maxFiles), "fewer")
			return false
		}
		s.oneFile(at, breach)
		return s.ended() == nil
	})
	if err != nil {
		breach(s.path, "", err, "a readable folder")
	}
}

func (c *checker) oneFile(at found, breach breachFunc) {
	if strings.HasPrefix(at.Name(), ".") {
		breach(at.name, "", "a name that begins with a dot", "another name")
	}
	if strings.Contains(at.Name(), " ") {
		breach(at.name, "", "a name with a blank", "another name")
	}
	if at.IsDir() {
		if strings.HasSuffix(at.Name(), "__pycache__") {
			breach(at.name, "", "a __pycache__ folder", "none")
		}
		switch {
		case at.err != nil:
			breach(at.name, "", at.err, "a readable folder")
		case at.empty:
			breach(at.name, "", "an empty folder", "a file in it, or no such folder")
		}
		return
	}
	info, err := at.dir.Lstat(at.Name())
	if at.Type()&fs.ModeSymlink != 0 {
		switch info, err = c.files.stat(at.name); {
		case errors.Is(err, errOutside):
			breach(at.name, "", err, "the file itself")
		case err != nil:
			breach(at.name, "", "a broken link", "the file itself")
		}
	}
	if err == nil && !info.IsDir() && info.Size() > maxFileSize {
		breach(at.name, "", fmt.Sprintf("%d bytes", info.Size()), fmt.Sprintf("at most %d", maxFileSize))
	}
}

func calibration(s *scope, breach breachFunc) {
	places := layout.Submitter{Division: s.division(), Name: s.name}.Calibration()
	for _, name := range places {
		if _, ok := s.files.size(name); ok {
			return
		}
	}
	breach(places[0], "", "no such file", "a calibration document")
}

func systemsWithoutResults(s *scope, breach breachFunc) {
	var has []string
	for _, y := range s.down {
		has = append(has, y.name)
	}
	folder := path.Join(s.path, layout.SystemsName)
	for _, name := range s.files.list(folder).plain {
		if system, ok := strings.CutSuffix(name, ".json"); ok && !slices.Contains(has, system) {
			breach(path.Join(folder, name), "", "no results/"+system, "results of every described system")
		}
	}
}

func noSystem(s *scope, breach breachFunc) {
	if len(s.down) == 0 {
		breach(path.Join(s.path, layout.ResultsName), "", "no system", "at least one")
	}
}
