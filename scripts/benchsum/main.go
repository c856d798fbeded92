package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// ratios are what is worth a number that outlives the machine: ours against a reference of the same round, in time per operation.
var ratios = []struct{ what, ours, reference string }{
	{"event decoder / encoding/json", "backends/openai.Event/walk", "backends/openai.Event/encoding-json"},
	{"event decoder, unknown prefix / encoding/json", "backends/openai.Event/walk_without_prefix", "backends/openai.Event/encoding-json"},
	{"event framing / event decoder", "backends/sse.Framer per event", "backends/openai.Event/walk"},
}

// report is what the JSON line holds. Times are ns, medians over the rounds.
type report struct {
	Rounds       int            `json:"rounds"`
	Benchmarks   []benchmark    `json:"benchmarks"`
	Ratios       []ratio        `json:"ratios"`
	Measurements []string       `json:"measurements"`
	values       map[string]set // by benchmark and unit
	order        []string
}

type set map[string][]float64

type benchmark struct {
	Name    string             `json:"name"`
	Medians map[string]float64 `json:"medians"` // by unit
}

type ratio struct {
	What   string    `json:"what"`
	Median float64   `json:"median"`
	Rounds []float64 `json:"rounds"`
}

func main() { os.Exit(mainCode(os.Args[1:], os.Stdout)) }

func mainCode(files []string, out io.Writer) int {
	r := &report{Rounds: len(files), values: map[string]set{}}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			fmt.Fprintf(out, "benchsum: %v\n", err)
			return 1
		}
		r.read(f)
		_ = f.Close() // read only
	}
	r.sum()
	r.print(out)
	line, err := json.Marshal(r)
	if err != nil {
		fmt.Fprintf(out, "benchsum: %v\n", err)
		return 1
	}
	fmt.Fprintf(out, "%s\n", line)
	return 0
}

var (
	packageLine = regexp.MustCompile(`^pkg: (?:[^/ ]+/){3}(.+)$`)
	benchLine   = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.+)$`)
	measureLine = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*medians of \d+: .*)$`)
	figure      = regexp.MustCompile(`([0-9.eE+-]+) (\S+)`)
)

// read takes one round: "ns/op" and, under a name of its own, what the benchmark reports per event, token and so on.
func (r *report) read(in io.Reader) {
	pkg := ""
	for lines := bufio.NewScanner(in); lines.Scan(); {
		line := lines.Text()
		if m := packageLine.FindStringSubmatch(line); m != nil {
			pkg = m[1]
		}
		if m := measureLine.FindStringSubmatch(line); m != nil {
			r.Measurements = append(r.Measurements, m[1])
		}
		m := benchLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, f := range figure.FindAllStringSubmatch(strings.ReplaceAll(m[2], "\t", " "), -1) {
			v, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				continue
			}
			if per, ok := strings.CutPrefix(f[2], "ns/"); ok && per != "op" {
				r.add(pkg+"."+m[1]+" per "+per, "ns/op", v)
				continue
			}
			r.add(pkg+"."+m[1], f[2], v)
		}
	}
}

func (r *report) add(name, unit string, v float64) {
	if r.values[name] == nil {
		r.values[name] = set{}
		r.order = append(r.order, name)
	}
	r.values[name][unit] = append(r.values[name][unit], v)
}

func (r *report) sum() {
	for _, name := range r.order {
		b := benchmark{Name: name, Medians: map[string]float64{}}
		for unit, v := range r.values[name] {
			b.Medians[unit] = median(v)
		}
		r.Benchmarks = append(r.Benchmarks, b)
	}
	for _, want := range ratios {
		ours, reference := r.values[want.ours]["ns/op"], r.values[want.reference]["ns/op"]
		if len(ours) == 0 || len(ours) != len(reference) {
			continue
		}
		of := ratio{What: want.what}
		for i := range ours {
			of.Rounds = append(of.Rounds, ours[i]/reference[i])
		}
		of.Median = median(of.Rounds)
		r.Ratios = append(r.Ratios, of)
	}
}

func median(v []float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	return sorted[len(sorted)/2]
}

func (r *report) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "benchmark (median of %d)\tns\tMB/s\tallocations\n", r.Rounds)
	for _, b := range r.Benchmarks {
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%s\n", b.Name, b.Medians["ns/op"], optional(b.Medians, "MB/s"), optional(b.Medians, "allocs/op"))
	}
	fmt.Fprintf(w, "\nratio, rounds in turns\tmedian\tsmallest\tlargest\n")
	for _, q := range r.Ratios {
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\n", q.What, q.Median, slices.Min(q.Rounds), slices.Max(q.Rounds))
	}
	_ = w.Flush() // to stdout: where that is gone nobody reads it
	for _, m := range r.Measurements {
		fmt.Fprintf(out, "\n%s", m)
	}
	fmt.Fprint(out, "\n\n")
}

func optional(medians map[string]float64, unit string) string {
	v, ok := medians[unit]
	if !ok {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
