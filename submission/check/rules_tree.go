package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// treeRules look at names and sizes. All but none are the older checker's (spec/submission.md §3.1 O1-O9).
var treeRules = []Rule{
	{ID: "root-folder", Class: Tree, Severity: Error, Strict: true, level: rootLevel,
		Advice: "move it out of the tree, or below a submitter's folder", look: rootFolders},
	{ID: "root-file", Class: Tree, Severity: Error, Strict: true, level: rootLevel,
		Advice: "move it out of the tree; only .md and .pdf files may lie beside the divisions", look: rootFiles},
	{ID: "no-result", Class: Tree, Severity: Error, Strict: true, level: rootLevel,
		Advice: "give the folder that holds closed, open or network, with at least one results/<system>/<benchmark>/<scenario>", look: noResult},
	{ID: "too-many-folders", Class: Tree, Severity: Error, level: rootLevel,
		Advice: "check a part of the tree; look for links that lead in a circle", look: tooManyFolders},
	{ID: "division-file", Class: Tree, Severity: Error, Strict: true, level: divisionLevel,
		Advice: "move it below a submitter's folder", look: divisionFiles},
	{ID: "submitter-files", Class: Tree, Severity: Error, Strict: true, level: submitterLevel,
		Advice: "rename, shorten or remove it: folders must hold something, links must lead somewhere, files have at most 50 MB, names neither begin with a dot nor hold a blank, and all must be readable", look: submitterFiles},
	{ID: "calibration", Class: Document, Severity: Error, Strict: true, level: submitterLevel, when: []condition{enforced},
		Advice: "write documentation/calibration.md: how the weights were quantised, or that they were not", look: calibration},
	{ID: "system-without-results", Class: Tree, Severity: Error, Strict: true, level: submitterLevel,
		Advice: "remove the description, or add the system's results", look: systemsWithoutResults},
	{ID: "no-system", Class: Tree, Severity: Error, Strict: true, level: submitterLevel,
		Advice: "add results/<system>/<benchmark>/<scenario>, or remove the submitter's folder from this division", look: noSystem},
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
	s.each(func(d *scope) { found = found || d.level == resultLevel })
	if !found {
		breach(".", "", "no scenario folder", "at least one")
	}
}

func tooManyFolders(s *scope, breach say) {
	if s.places > maxFolders {
		breach(".", "", fmt.Sprintf("more than %d submitters, systems, benchmarks and scenarios; the rest is not looked at", maxFolders), "fewer")
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
	base := s.files.at(s.path)
	_ = filepath.WalkDir(base, func(name string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(s.files.root, name)
		if relErr != nil {
			rel = name
		}
		rel = filepath.ToSlash(rel)
		if err != nil {
			breach(rel, "", err, "a file or folder that can be read")
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if s.ended() != nil {
			return fs.SkipAll
		}
		if seen++; seen > maxFiles {
			breach(s.path, "", fmt.Sprintf("more than %d files", maxFiles), "fewer")
			return fs.SkipAll
		}
		if name != base {
			s.oneFile(name, rel, e, breach)
		}
		return nil
	})
}

func (s *scope) oneFile(name, rel string, e fs.DirEntry, breach say) {
	if strings.HasPrefix(e.Name(), ".") {
		breach(rel, "", "a name that begins with a dot", "another name")
	}
	if strings.Contains(e.Name(), " ") {
		breach(rel, "", "a name with a blank", "another name")
	}
	switch {
	case e.IsDir():
		if strings.HasSuffix(e.Name(), "__pycache__") {
			breach(rel, "", "a __pycache__ folder", "none")
		}
		if isEmpty(name) {
			breach(rel, "", "an empty folder", "a file in it, or no such folder")
		}
	case e.Type()&fs.ModeSymlink != 0:
		info, err := os.Stat(name)
		switch {
		case err != nil:
			breach(rel, "", "a link that leads nowhere", "the file itself")
		case info.Size() > maxFileSize && !info.IsDir():
			breach(rel, "", fmt.Sprintf("%d bytes", info.Size()), fmt.Sprintf("at most %d", maxFileSize))
		}
	default:
		if info, err := e.Info(); err == nil && info.Size() > maxFileSize {
			breach(rel, "", fmt.Sprintf("%d bytes", info.Size()), fmt.Sprintf("at most %d", maxFileSize))
		}
	}
}

func isEmpty(folder string) bool {
	d, err := os.Open(folder)
	if err != nil {
		return false // the walk names it
	}
	defer d.Close()
	names, err := d.Readdirnames(1)
	return len(names) == 0 && !errors.Is(err, fs.ErrPermission)
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
