package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// report is the content of the JSON file.
type report struct {
	Rounds  int      `json:"rounds"`
	Figures []figure `json:"figures"`
	// medians: ns of benchmarks, else the unit that the figure's name implies
	Measurements map[string]float64   `json:"measurements"`
	measured     map[string][]float64 // by name, as the rounds have them
}

// figure is one row of the table.
type figure struct {
	What     string    `json:"what"`
	Measured *float64  `json:"measured"` // the median; null: not measured here
	Unit     string    `json:"unit"`
	Floor    float64   `json:"floor"`
	Goal     float64   `json:"goal"`
	AtMost   bool      `json:"at_most,omitempty"` // floor and goal are upper bounds
	Met      string    `json:"met"`               // goal, floor, no, or why it was not measured
	Rounds   []float64 `json:"rounds"`
}

func main() { os.Exit(mainCode(os.Args[1:], os.Stdout)) }

func mainCode(args []string, out io.Writer) int {
	flags := flag.NewFlagSet("benchsum", flag.ContinueOnError)
	flags.SetOutput(out)
	jsonFile := flags.String("json", "", "file for the figures as JSON")
	if flags.Parse(args) != nil {
		return 2
	}
	r := &report{Rounds: flags.NArg(), Measurements: map[string]float64{}, measured: map[string][]float64{}}
	for _, name := range flags.Args() {
		if err := r.readFile(name); err != nil {
			fmt.Fprintf(out, "benchsum: %v\n", err)
			return 1
		}
	}
	r.sum()
	r.print(out)
	if *jsonFile == "" {
		return 0
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(*jsonFile, append(data, '\n'), 0o644)
	}
	if err != nil {
		fmt.Fprintf(out, "benchsum: %v\n", err)
		return 1
	}
	return 0
}

func (r *report) readFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.read(f)
}

var (
	packageLine = regexp.MustCompile(`^pkg: (?:[^/ ]+/){3}(.+)$`)
	benchLine   = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.+)$`)
	measureLine = regexp.MustCompile(`^MEASURED (\S+) (\S+) (\S*)$`)
	number      = regexp.MustCompile(`([0-9.eE+-]+) (\S+)`)
)

// read reads one round: "ns/op" and, under its own name, each figure that a benchmark reports per event, token and so
// on.
func (r *report) read(in io.Reader) error {
	pkg := ""
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if m := packageLine.FindStringSubmatch(line); m != nil {
			pkg = m[1]
		}
		if m := measureLine.FindStringSubmatch(line); m != nil {
			v, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				return fmt.Errorf("the line %q has no number: %w", line, err)
			}
			r.measured[m[1]] = append(r.measured[m[1]], v)
		}
		m := benchLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, f := range number.FindAllStringSubmatch(strings.ReplaceAll(m[2], "\t", " "), -1) {
			v, err := strconv.ParseFloat(f[1], 64)
			per, isTime := strings.CutPrefix(f[2], "ns/")
			if err != nil || !isTime {
				continue
			}
			name := pkg + "." + m[1]
			if per != "op" {
				name += " per " + per
			}
			r.measured[name] = append(r.measured[name], v)
		}
	}
	return lines.Err()
}

func (r *report) sum() {
	for name, values := range r.measured {
		r.Measurements[name] = median(values)
	}
	for i := range goals {
		g := &goals[i]
		f := figure{What: g.What, Unit: g.Unit, Floor: g.Floor, Goal: g.Goal, AtMost: g.AtMost, Rounds: g.figures(r.measured)}
		if len(f.Rounds) > 0 {
			m := median(f.Rounds)
			f.Measured, f.Met = &m, g.met(m)
		} else {
			f.Met = r.missing(g)
		}
		r.Figures = append(r.Figures, f)
	}
}

// missing explains why a row has no figure.
func (r *report) missing(g *goal) string {
	if strings.HasSuffix(g.Reference, "/wrk") && len(r.measured[g.Ours]) > 0 {
		return "not measured: wrk is not installed"
	}
	return "not measured"
}

func median(v []float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func (r *report) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "median of %d rounds\tmeasured\tof the rounds\tfloor\tgoal\tmet\n", r.Rounds)
	for _, f := range r.Figures {
		bound := ""
		if f.AtMost {
			bound = "<= "
		}
		measured, spread := "-", "-"
		if f.Measured != nil {
			measured = short(*f.Measured) + " " + f.Unit
			spread = short(slices.Min(f.Rounds)) + " to " + short(slices.Max(f.Rounds))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s%g\t%s%g\t%s\n", f.What, measured, spread, bound, f.Floor, bound, f.Goal, f.Met)
	}
	_ = w.Flush() // to stdout
}

// short writes a figure with about three digits.
func short(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.1 || v == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
}
