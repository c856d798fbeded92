package peers

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// guideTable is benchmarks.csv: three lines of heads, then a line per benchmark.
type guideTable struct {
	heads [][3]string // group, name, unit
	rows  [][]string
}

// csvGroups are the groups that have their own columns for each metric, in the order of the columns.
var csvGroups = []int{0, 2, 1} // of guideStatus

// add adds a benchmark. The columns are those of the first benchmark, as in guidellm.
func (t *guideTable) add(b *guideBenchmark) {
	var heads [][3]string
	var row []string
	cell := func(group, name, unit, value string) {
		heads, row = append(heads, [3]string{group, name, unit}), append(row, value)
	}
	cell("Run Info", "Run ID", "", b.log.ID)
	cell("Run Info", "Run Index", "", strconv.Itoa(b.index))
	cell("Benchmark", "Type", "", "generative_benchmark")
	cell("Benchmark", "ID", "", b.id())
	cell("Benchmark", "Strategy", "", b.stage.strategy())
	first, last := b.extent()
	for _, one := range []struct {
		name string
		at   float64
	}{{"Start Time", first}, {"Request Start Time", first}, {"Measure Start Time", b.start},
		{"Measure End Time", b.end}, {"Request End Time", last}, {"End Time", last}} {
		cell("Timings", one.name, "", time.Unix(0, int64(one.at*1e9)).UTC().Format(time.DateTime))
	}
	cell("Timings", "Duration", "Sec", pyrepr.Float(b.end-b.start))
	cell("Timings", "Warmup", "Sec", pyrepr.Float(b.start-first))
	cell("Timings", "Cooldown", "Sec", pyrepr.Float(last-b.end))
	counts := map[string]int{}
	for _, m := range guideCounts(b.requests) {
		counts[m.key], _ = m.value.(int)
	}
	for _, one := range [][2]string{{"Successful", "successful"}, {"Incomplete", "incomplete"}, {"Errored", "errored"},
		{"Total", "total"}} {
		cell("Request Counts", one[0], "", strconv.Itoa(counts[one[1]]))
	}
	for i := range b.metrics {
		m := &b.metrics[i]
		if m.group == "" {
			continue
		}
		for _, k := range csvGroups {
			d := &m.groups[k]
			if d.mean() == 0 {
				continue
			}
			name := map[string]string{"successful": "Successful ", "incomplete": "Incomplete ",
				"errored": "Errored "}[guideStatus[k].name] + m.unit
			cell(m.group, name, "Mean", pyrepr.Float(d.mean()))
			cell(m.group, name, "Median", pyrepr.Float(d.at(.5)))
			cell(m.group, name, "Std Dev", pyrepr.Float(d.deviation()))
			cell(m.group, name, "Percentiles", d.percentileList())
		}
		if m.key == "request_concurrency" && b.good.hasLimits {
			rate, share := "", ""
			if g := b.good; g.rates != nil {
				rate, share = pyrepr.Float(g.rates.mean()), pyrepr.Float(g.attainment)
			}
			cell(m.group, "Successful Goodput/Sec", "mean", rate)
			cell(m.group, "SLO Attainment", "", share)
		}
	}
	if t.heads == nil {
		t.heads = heads
	}
	t.rows = append(t.rows, row)
}

func (t *guideTable) text() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true // like Python's csv module
	for line := range 3 {
		var row []string
		for _, head := range t.heads {
			row = append(row, head[line])
		}
		if err := w.Write(row); err != nil {
			return nil, err
		}
	}
	err := w.WriteAll(t.rows)
	return b.Bytes(), err
}
