package check

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// treeRules look at names and sizes. All but none are the older checker's
// (docs/reference/submission-rules.md#files-and-names).
var treeRules = []Rule{
	{ID: "root-folder", Class: Tree, Severity: Error, Strict: true, level: rootLevel,
		Advice: "move it out of the tree, or below a submitter's folder", look: rootFolders},
	{ID: "root-file", Class: Tree, Severity: Error, Strict: true, level: rootLevel,
		Advice: "move it out of the tree; only .md and .pdf files may lie beside the divisions", look: rootFiles},
	{ID: "no-result", Class: Tree, Severity: Error, Strict: true, level: rootLevel,
		Advice: "give the folder that holds closed, open or network, with at least one " +
			"results/<system>/<benchmark>/<scenario>", look: noResult},
	{ID: "link-outside", Class: Tree, Severity: Error, level: rootLevel,
		Advice: "put the folder itself there: nothing outside of the tree is read, and only what lies in it is packed",
		look:   linksOutside},
	{ID: "benchmark-not-judged", Class: Tree, Severity: Warning, level: rootLevel,
		Advice: "check these results with the official checker; --only-known leaves them out", look: benchmarksNotJudged},
	{ID: "too-many-folders", Class: Tree, Severity: Error, level: rootLevel,
		Advice: "check a part of the tree; look for links that lead in a circle", look: tooManyFolders},
	{ID: "division-file", Class: Tree, Severity: Error, Strict: true, level: divisionLevel,
		Advice: "move it below a submitter's folder", look: divisionFiles},
	{ID: "submitter-files", Class: Tree, Severity: Error, Strict: true, level: submitterLevel,
		Advice: "rename, shorten or remove it: folders must hold something, links must lead somewhere, files have at most " +
			"50 MB, names neither begin with a dot nor hold a blank, and all must be readable", look: submitterFiles},
	{ID: "calibration", Class: Document, Severity: Error, Strict: true, level: submitterLevel, when: []condition{enforced},
		Advice: "write documentation/calibration.md: how the weights were quantised, or that they were not",
		look:   calibration},
	{ID: "system-without-results", Class: Tree, Severity: Error, Strict: true, level: submitterLevel,
		Advice: "remove the description, or add the system's results", look: systemsWithoutResults},
	{ID: "no-system", Class: Tree, Severity: Error, Strict: true, level: submitterLevel,
		Advice: "add results/<system>/<benchmark>/<scenario>, or remove the submitter's folder from this division",
		look:   noSystem},
}

var besideDivisions = []string{".git", ".github", "assets"}

func rootFolders(s *scope, breach say) {
	for _, name := range s.here.folders {
		if !slices.Contains(layout.Divisions(), name) && !slices.Contains(besideDivisions, name) {
			breach(name, "", "a folder "+name, "closed, open or network")
		}
	}
}

func rootFiles(s *scope, breach say) {
	if s.here.err != nil {
		breach(".", "", s.here.err, "a folder that can be listed")
	}
	for _, name := range s.here.plain {
		if ext := path.Ext(name); ext != ".md" && ext != ".pdf" {
			breach(name, "", "a file "+name, "*.md or *.pdf")
		}
	}
}

func noResult(s *scope, breach say) {
	found := false
	s.each(func(d *scope) { found = found || d.level == resultLevel || d.skipped })
	if !found {
		breach(".", "", "no scenario folder", "at least one")
	}
}

// linksOutside looks at every folder in which the walk looked for results: a link that it does not follow would hide
// some.
func linksOutside(s *scope, breach say) {
	s.each(func(d *scope) {
		for _, name := range d.here.outside {
			breach(path.Join(d.path, name), "", errOutside, "the folder itself")
		}
	})
}

func benchmarksNotJudged(s *scope, breach say) {
	names := map[string]bool{}
	s.each(func(d *scope) {
		if d.skipped {
			names[d.name] = true
		}
	})
	if len(names) > 0 {
		breach(s.path, "", fmt.Sprintf("%d results of %s", s.notJudged(), strings.Join(sortedKeys(names), ", ")),
			"language and vision-language benchmarks")
	}
}

func tooManyFolders(s *scope, breach say) {
	if s.files.links.Load() > maxLinks {
		breach(".", "", fmt.Sprintf("more than %d links; the rest is not looked at", maxLinks), "fewer")
	}
	if s.places > maxFolders {
		breach(".", "", fmt.Sprintf("more than %d submitters, systems, benchmarks and scenarios; the rest is not looked at",
			maxFolders), "fewer")
	}
}

func divisionFiles(s *scope, breach say) {
	for _, name := range s.here.plain {
		breach(path.Join(s.path, name), "", "a file", "submitters' folders alone")
	}
}

// maxFileSize is the organisers' bound of one file, in bytes.
const maxFileSize = 50 << 20

// maxFiles bounds the walk over a submitter's files.
const maxFiles = 2_000_000

func submitterFiles(s *scope, breach say) {
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
		breach(s.path, "", err, "a folder that can be read")
	}
}

func (s *scope) oneFile(at found, breach say) {
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
			breach(at.name, "", at.err, "a folder that can be read")
		case at.empty:
			breach(at.name, "", "an empty folder", "a file in it, or no such folder")
		}
		return
	}
	info, err := at.dir.Lstat(at.Name())
	if at.Type()&fs.ModeSymlink != 0 {
		switch info, err = s.files.stat(at.name); {
		case errors.Is(err, errOutside):
			breach(at.name, "", err, "the file itself")
		case err != nil:
			breach(at.name, "", "a link that leads nowhere", "the file itself")
		}
	}
	if err == nil && !info.IsDir() && info.Size() > maxFileSize {
		breach(at.name, "", fmt.Sprintf("%d bytes", info.Size()), fmt.Sprintf("at most %d", maxFileSize))
	}
}

func calibration(s *scope, breach say) {
	places := layout.Submitter{Division: s.division(), Name: s.name}.Calibration()
	for _, name := range places {
		if _, ok := s.files.size(name); ok {
			return
		}
	}
	breach(places[0], "", "no such file", "a calibration document")
}

func systemsWithoutResults(s *scope, breach say) {
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

func noSystem(s *scope, breach say) {
	if len(s.down) == 0 {
		breach(path.Join(s.path, layout.ResultsName), "", "no system", "at least one")
	}
}
