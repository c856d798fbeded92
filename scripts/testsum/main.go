package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(mainCode(os.Args[1:], os.Stdin, os.Stdout)) }

func mainCode(args []string, in io.Reader, out io.Writer) int {
	s := newSum(out)
	if len(args) == 0 {
		s.live = true
		s.read(in)
		return s.code()
	}
	for _, name := range args[1:] {
		if err := s.readFile(name); err != nil {
			fmt.Fprintf(out, "testsum: %v\n", err)
			return 1
		}
	}
	if args[0] == "-again" {
		s.printAgain()
		return 0
	}
	s.total()
	return s.code()
}

// event is a line of `go test -json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string
}

type key struct{ pkg, test string }

// sum counts events, and keeps the output of every test until it has passed.
type sum struct {
	out     io.Writer
	live    bool
	again   *again // of the file that is being read, where it is a second run
	output  map[key][]string
	running map[string]int // failed tests of packages that have not ended
	failed  []key
	flaky   []key
	passed  int
	skipped int
	skips   map[key]bool // tests that skipped in the file that is being read
}

func newSum(out io.Writer) *sum {
	return &sum{out: out, output: map[key][]string{}, running: map[string]int{}, skips: map[key]bool{}}
}

// readFile reads the stream of one part, and then that of its second run (again.go) if there was one.
func (s *sum) readFile(name string) error {
	first := len(s.failed)
	s.skips = map[key]bool{}
	for _, again := range []bool{false, true} {
		path := name
		if again {
			path = strings.TrimSuffix(name, ".json") + againSuffix
		}
		f, err := os.Open(path)
		if again && os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if again {
			s.again = newAgain(s.skips)
		}
		s.read(f)
		_ = f.Close() // read only
	}
	s.forgive(first)
	return nil
}

// read reads a stream to its end. A line that is not an event, such as a message of the go command, is printed
// unchanged.
func (s *sum) read(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				s.take(e)
			} else if s.live {
				fmt.Fprint(s.out, line)
			}
		}
		if err != nil {
			return
		}
	}
}

func (s *sum) take(e event) {
	k := key{e.Package, e.Test}
	if s.again != nil {
		s.again.take(k, e)
		return
	}
	switch e.Action {
	case "build-output":
		s.output[key{pkg: e.ImportPath}] = append(s.output[key{pkg: e.ImportPath}], e.Output)
	case "output":
		s.output[k] = append(s.output[k], e.Output)
	case "pass", "skip", "fail":
		s.end(k, e)
	}
}

func (s *sum) end(k key, e event) {
	if k.test == "" {
		s.endPackage(k, e)
		return
	}
	switch e.Action {
	case "pass":
		s.passed++
		delete(s.output, k)
	case "skip":
		s.skipped++
		s.skips[k] = true
	case "fail":
		s.running[k.pkg]++
		s.fail(k)
	}
}

func (s *sum) fail(k key) {
	s.failed = append(s.failed, k)
	if s.live {
		fmt.Fprintf(s.out, "FAIL %s %s\n", k.pkg, k.test)
		s.print(k)
	}
}

func (s *sum) print(k key) {
	for _, line := range s.output[k] {
		fmt.Fprint(s.out, "     "+line)
	}
}

func (s *sum) endPackage(k key, e event) {
	if e.Action == "fail" && s.running[k.pkg] == 0 {
		if e.FailedBuild != "" {
			s.output[k] = append(s.output[key{pkg: e.FailedBuild}], s.output[k]...)
		}
		s.fail(k)
	}
	delete(s.running, k.pkg)
	if !s.live {
		return
	}
	word := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "none"}[e.Action]
	fmt.Fprintf(s.out, "%s %s %.1f s\n", word, k.pkg, e.Elapsed)
}

// total lists the failures again, for the end of a long log, and ends with the counts.
func (s *sum) total() {
	for _, k := range s.failed {
		fmt.Fprintln(s.out, strings.TrimRight("FAIL "+k.pkg+" "+k.test, " "))
		s.print(k)
	}
	for _, k := range s.flaky {
		fmt.Fprintln(s.out, strings.TrimRight("FLAKY "+k.pkg+" "+k.test, " ")+
			": failed, and passed when it ran again by itself")
		s.print(k)
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", s.passed, len(s.failed), s.skipped)
}

func (s *sum) code() int {
	if len(s.failed) > 0 {
		return 1
	}
	return 0
}
