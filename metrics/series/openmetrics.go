package series

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

// family is a metric family of OpenMetrics.
type family struct {
	name, kind string
	series     []*Series
}

// group is what OpenMetrics calls a metric: the series of one label set, which are written together for each time.
type group struct {
	kind    string
	target  int
	members []member // in the order of writing
}

// member is a series of a group.
type member struct {
	*Series
	labels string
	role   int     // index in suffixes; 0 if the name has none of them
	bound  float64 // of a bucket or a quantile
}

// suffixes are what a series of a family adds to the family's name.
var suffixes = []string{"", "_bucket", "_sum", "_count", "_total", "_created"}

// Roles that the rules name.
const (
	roleBucket, roleSum, roleCount, roleTotal = 1, 2, 3, 4
)

// exportOpenMetrics writes the families one after the other, each series with an added label for its target. A time of
// a histogram or a counter that lacks what OpenMetrics requires of it is left out.
func exportOpenMetrics(w *bufio.Writer, set *Set) {
	for _, f := range openMetricsFamilies(set) {
		fmt.Fprintf(w, "# TYPE %s %s\n", f.name, f.kind)
		for _, g := range f.groups(set) {
			g.write(w, set)
		}
	}
	fmt.Fprint(w, "# EOF\n")
}

// openMetricsFamilies returns the families by name. Python's client writes the time at which a series began as a gauge
// of its own, whose name belongs to the family of that series in OpenMetrics. A histogram that has no bucket of
// everything, perhaps because the caller kept only its count, becomes a family for each name.
func openMetricsFamilies(set *Set) []family {
	page, whole := map[string][]*Series{}, map[string]bool{}
	for _, s := range set.Series {
		whole[s.Family] = whole[s.Family] || s.Kind != exposition.Histogram || canonical(s.Labels["le"]) == "+Inf"
	}
	for _, s := range set.Series {
		key := s.Family
		if !whole[key] {
			key = s.Name
		}
		page[key] = append(page[key], s)
	}
	for _, name := range slices.Sorted(maps.Keys(page)) {
		base, created := strings.CutSuffix(name, "_created")
		for _, parent := range []string{base + "_total", base} {
			if of := page[parent]; created && len(of) > 0 && of[0].Cumulative() {
				page[parent] = append(of, page[name]...)
				delete(page, name)
				break
			}
		}
	}
	var list []family
	for _, key := range slices.Sorted(maps.Keys(page)) {
		first := page[key][0]
		name, kind := openMetricsType(key, first.Kind)
		if name != key && page[name] != nil || !whole[first.Family] { // two families cannot have one name
			name, kind = key, "unknown"
		}
		list = append(list, family{name, kind, page[key]})
	}
	return list
}

// openMetricsType returns the name and the type of a family. Counters that do not end in _total, which OpenMetrics does
// not allow, are unknown.
func openMetricsType(family string, kind exposition.Kind) (name, declared string) {
	switch {
	case kind == exposition.Counter && strings.HasSuffix(family, "_total"):
		return strings.TrimSuffix(family, "_total"), string(kind)
	case kind == exposition.Counter || kind == exposition.Untyped:
		return family, "unknown"
	}
	return family, string(kind)
}

// groups returns the groups of a family, in the order of their first series.
func (f *family) groups(set *Set) []*group {
	var list []*group
	byLabels := map[string]*group{}
	for _, s := range f.series {
		m := member{Series: s, role: max(0, slices.Index(suffixes, strings.TrimPrefix(s.Name, f.name)))}
		key := f.labels(&m, set.Targets[s.Target])
		if byLabels[key] == nil {
			byLabels[key] = &group{kind: f.kind, target: s.Target}
			list = append(list, byLabels[key])
		}
		byLabels[key].members = append(byLabels[key].members, m)
	}
	for _, g := range list {
		slices.SortStableFunc(g.members, func(a, b member) int {
			return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.bound, b.bound))
		})
	}
	return list
}

// labels sets a member's labels and bound, and returns the labels of its group. A label of the page that has the added
// one's name is renamed as Prometheus does.
func (f *family) labels(m *member, target string) (group string) {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	list := []string{`target="` + escape.Replace(target) + `"`}
	bound := ""
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		value, to := m.Labels[name], name
		switch {
		case name == "target":
			to = "exported_target"
		case f.bounds(m, name):
			m.bound, _ = strconv.ParseFloat(value, 64) // a value that is no number stays as it is
			bound = name + `="` + escape.Replace(canonical(value)) + `"`
			continue
		}
		list = append(list, to+`="`+escape.Replace(value)+`"`)
	}
	group = strings.Join(list, ",")
	m.labels = group
	if bound != "" {
		m.labels += "," + bound
	}
	return group
}

// bounds reports whether a label distinguishes the series of a group.
func (f *family) bounds(m *member, label string) bool {
	return f.kind == "histogram" && m.role == roleBucket && label == "le" ||
		f.kind == "summary" && m.role == 0 && label == "quantile"
}

// canonical returns a bound as OpenMetrics writes it: 1.0, where Go's clients write 1.
func canonical(bound string) string {
	v, err := strconv.ParseFloat(bound, 64)
	if err != nil {
		return bound
	}
	number := text(v)
	if !strings.ContainsAny(number, ".eIN") {
		number += ".0"
	}
	return number
}

// write writes the group's values by time, which must grow in OpenMetrics.
func (g *group) write(w *bufio.Writer, set *Set) {
	last := int64(math.MinInt64)
	for i, at := range set.Scrapes[g.target].TimesS {
		ms := set.at(at).UnixMilli()
		if ms <= last || !g.complete(i) {
			continue
		}
		last = ms
		for _, m := range g.members {
			if v := m.value(i); !math.IsNaN(v) {
				fmt.Fprintf(w, "%s{%s} %s %.3f\n", m.Name, m.labels, text(v), float64(ms)/1e3)
			}
		}
	}
}

// value returns the value of a scrape, or NaN.
func (m *member) value(scrape int) float64 {
	if scrape < len(m.Values) {
		return m.Values[scrape]
	}
	return math.NaN()
}

// complete reports whether a group has what OpenMetrics requires at a time: a histogram its bucket of everything, which
// agrees with the count, and a sum exactly if it has a count; a counter its total; the others any value.
func (g *group) complete(scrape int) bool {
	var has [6]bool // by role
	var bucket, count float64
	everything := false
	for _, m := range g.members {
		v := m.value(scrape)
		if math.IsNaN(v) {
			continue
		}
		has[m.role] = true
		switch m.role {
		case roleBucket:
			if v < bucket {
				return false // the page was written while the server counted
			}
			bucket, everything = v, math.IsInf(m.bound, 1)
		case roleCount:
			count = v
		}
	}
	switch g.kind {
	case "histogram":
		return everything && has[roleSum] == has[roleCount] && (!has[roleCount] || count == bucket)
	case "counter":
		return has[roleTotal]
	}
	return slices.Contains(has[:], true)
}
