package check

import (
	"path"
	"slices"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// scope is a folder of the tree to which rules apply.
type scope struct {
	*checker
	level level
	path  string // relative to the root; "." is the root
	name  string // last element of path
	up    *scope
	down  []*scope
	here  listing

	system  *document         // description of a system
	mapping map[string]string // a submitter's own benchmark names
	bench   *benchmark        // rules of a benchmark; nil if unknown
	skipped bool              // whether it is an official benchmark that generates no text and has no rules here
	result  *result           // files of a scenario folder, while rules are applied to it

	findings []Finding
	broken   bool     // whether it has an error itself
	row      *summary // report on a scenario folder
}

// at returns the folder of that level that contains s, or s itself.
func (s *scope) at(l level) *scope {
	for s.level > l {
		s = s.up
	}
	return s
}

func (s *scope) division() string { return s.at(divisionLevel).name }

// sut returns the system's description. It is never nil, even if it could not be read.
func (s *scope) sut() *document { return s.at(systemLevel).system }

// model returns the benchmark's rules, or nil if it is unknown.
func (s *scope) model() *benchmark { return s.at(benchmarkLevel).bench }

// invalid reports whether the folder or one of its parents has an error.
func (s *scope) invalid() bool {
	for ; s != nil; s = s.up {
		if s.broken {
			return true
		}
	}
	return false
}

func (s *scope) each(do func(*scope)) {
	do(s)
	for _, d := range s.down {
		d.each(do)
	}
}

func (s *scope) add(level level, name string) *scope {
	d := &scope{checker: s.checker, level: level, path: path.Join(s.path, name), name: name, up: s}
	d.here = s.files.list(d.path)
	s.down = append(s.down, d)
	return d
}

// notJudged counts the scenario folders of official benchmarks without rules.
func (s *scope) notJudged() int {
	n := 0
	s.each(func(d *scope) {
		if d.skipped {
			n += len(d.here.folders)
		}
	})
	return n
}

// maxFolders limits the scopes of a tree. The tree of a whole round has thousands; links can make a small tree seem
// endless.
const maxFolders = 20_000

// walk finds the folders to check.
func (c *checker) walk() *scope {
	top := &scope{checker: c, level: rootLevel, path: "."}
	top.here = c.files.list(".")
	for _, division := range top.here.folders {
		if !slices.Contains(layout.Divisions(), division) {
			continue
		}
		d := top.add(divisionLevel, division)
		for _, name := range d.here.folders {
			if (c.o.Submitter == "" || c.o.Submitter == name) && c.room() {
				c.walkSubmitter(d.add(submitterLevel, name))
			}
		}
	}
	return top
}

// submitters returns the names of the submitters' folders of all divisions, also of those that are not checked.
func submitters(top *scope) []string {
	var names []string
	for _, d := range top.down {
		names = append(names, d.here.folders...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// room counts a folder and reports whether it is still within the limits.
func (c *checker) room() bool {
	c.places++
	return c.places <= maxFolders && c.files.links.Load() <= maxLinks && c.ended() == nil
}

func (c *checker) walkSubmitter(s *scope) {
	if isOpen(s) {
		s.mapping = c.readMapping(path.Join(s.path, layout.MappingName))
	}
	results := c.files.list(path.Join(s.path, layout.ResultsName))
	for _, link := range results.outside {
		s.here.outside = append(s.here.outside, path.Join(layout.ResultsName, link))
	}
	for _, system := range results.folders {
		if !c.room() {
			return
		}
		y := s.add(systemLevel, path.Join(layout.ResultsName, system))
		y.name = system
		y.system = c.readDocument(path.Join(s.path, layout.SystemsName, system+".json"))
		for _, name := range y.here.folders {
			if !c.room() {
				return
			}
			bench, other := y.find(name)
			if other && c.o.OnlyKnown {
				continue
			}
			b := y.add(benchmarkLevel, name)
			if b.bench, b.skipped = bench, other; other {
				continue
			}
			for _, scenario := range b.here.folders {
				if !c.room() {
					return
				}
				b.add(resultLevel, scenario)
			}
		}
	}
}
