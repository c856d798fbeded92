package check

import (
	"path"
	"slices"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// scope is one place of the tree: the root, a division, a submitter, a system, a benchmark or a scenario folder.
type scope struct {
	*checker
	level level
	path  string // below the root; "." is the root
	name  string // its last element
	up    *scope
	down  []*scope
	here  listing

	system  *document         // of a system: its description
	mapping map[string]string // of a submitter: own benchmark names
	bench   *benchmark        // of a benchmark: its rules; nil where none is known
	skipped bool              // of a benchmark: an official one that generates no text, for which there are no rules here
	result  *result           // of a scenario folder while its rules are asked

	findings []Finding
	broken   bool     // it has an error of its own
	row      *summary // of a scenario folder: what the report says about it
}

// at gives the place of that level which holds s, or s itself.
func (s *scope) at(l level) *scope {
	for s.level > l {
		s = s.up
	}
	return s
}

func (s *scope) division() string { return s.at(divisionLevel).name }

// sut gives the system's description; every document answers, also one that could not be read.
func (s *scope) sut() *document { return s.at(systemLevel).system }

// model gives the benchmark's rules; nil where none is known.
func (s *scope) model() *benchmark { return s.at(benchmarkLevel).bench }

// invalid says whether an error here or above spoils what lies here.
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

// notJudged counts the scenario folders of benchmarks without rules.
func (s *scope) notJudged() int {
	n := 0
	s.each(func(d *scope) {
		if d.skipped {
			n += len(d.here.folders)
		}
	})
	return n
}

// maxFolders bounds the places of a tree. A round's whole tree has some thousands; links can make a small one look
// endless.
const maxFolders = 20_000

// walk finds the places of the tree.
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

// room says whether one more place is looked at.
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
