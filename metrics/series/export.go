package series

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

// Formats of Export.
const (
	CSV         = "csv"         // a line per value: time, target, name, kind, labels as JSON, value
	JSON        = "json"        // a line of JSON per series, with its times and values
	OpenMetrics = "openmetrics" // text with time stamps, which promtool and others read
)

// Formats lists the formats of Export.
var Formats = []string{CSV, JSON, OpenMetrics}

// Export writes every value of a set. Absent values are omitted.
func Export(w io.Writer, format string, set *Set) error {
	out := bufio.NewWriter(w) // which keeps the first error until Flush
	switch format {
	case CSV:
		exportCSV(out, set)
	case JSON:
		if err := exportJSON(out, set); err != nil {
			return err
		}
	case OpenMetrics:
		exportOpenMetrics(out, set)
	default:
		return fmt.Errorf("unknown format %q; use %s", format, strings.Join(Formats, ", "))
	}
	return out.Flush()
}

// each calls visit with every value that is present.
func (set *Set) each(s *Series, visit func(at, value float64)) {
	for i, v := range s.Values {
		if !math.IsNaN(v) {
			visit(set.Scrapes[s.Target].TimesS[i], v)
		}
	}
}

// at returns the wall-clock time of seconds after the start.
func (set *Set) at(seconds float64) time.Time {
	return set.Started.Add(time.Duration(seconds * float64(time.Second)))
}

func exportCSV(w *bufio.Writer, set *Set) {
	out := csv.NewWriter(w) // whose errors are those of w
	_ = out.Write([]string{"time", "elapsed_s", "target", "name", "kind", "labels", "value"})
	for _, s := range set.Series {
		labels, _ := json.Marshal(s.Labels) // of strings, which cannot fail; sorted by name
		set.each(s, func(at, v float64) {
			_ = out.Write([]string{set.at(at).Format(time.RFC3339Nano), text(at), set.Targets[s.Target], s.Name,
				string(s.Kind), string(labels), text(v)})
		})
	}
	out.Flush()
}

// seriesJSON is one line of the JSON format.
type seriesJSON struct {
	Target string            `json:"target"`
	Name   string            `json:"name"`
	Kind   exposition.Kind   `json:"kind"`
	Labels map[string]string `json:"labels,omitempty"`
	TimesS []float64         `json:"t_s"`
	Values []float64         `json:"values"`
}

// exportJSON fails on infinite values, which JSON does not have.
func exportJSON(w io.Writer, set *Set) error {
	out := json.NewEncoder(w)
	for _, s := range set.Series {
		line := seriesJSON{Target: set.Targets[s.Target], Name: s.Name, Kind: s.Kind, Labels: s.Labels,
			TimesS: []float64{}, Values: []float64{}}
		set.each(s, func(at, v float64) {
			line.TimesS, line.Values = append(line.TimesS, at), append(line.Values, v)
		})
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func text(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
