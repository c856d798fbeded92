package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// FinalOptions hold the data of the final report that the check does not have.
type FinalOptions struct {
	Version    string         // version in the IDs, such as 6.1
	Owner      string         // owner of the organisers' repository
	Repository string         // its name
	Branch     string         // its branch
	IDs        map[string]int // numbers assigned earlier, by unique id; FinalReport adds new ones
}

// FinalReport writes the JSON of the organisers' final report (docs/reference/submission-rules.md#final-report) for the
// valid results.
func (r *Report) FinalReport(w io.Writer, o FinalOptions) error {
	if o.IDs == nil {
		return fmt.Errorf("write the final report: no table of IDs given; pass that of the previous report, or an empty one")
	}
	t := newFinalTable(r.Results)
	entries := make([]finalEntry, 0, len(t.rows))
	for _, one := range t.rows {
		entries = append(entries, t.entry(one, o))
	}
	ordering.Sort(entries, func(a, b finalEntry) int {
		return cmp.Or(strings.Compare(a.category, b.category), strings.Compare(a.availability, b.availability),
			strings.Compare(a.submitter, b.submitter), strings.Compare(a.unique, b.unique))
	})
	assignIDs(entries, o)
	ordering.Sort(entries, func(a, b finalEntry) int {
		return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.used, b.used),
			strings.Compare(a.scenario, b.scenario), strings.Compare(a.unit, b.unit))
	})
	return writeEntries(w, entries)
}

// WriteIDs writes the table of numbers in the format of the organisers' ids.json.
func WriteIDs(w io.Writer, ids map[string]int) error {
	names := sortedKeys(ids)
	ordering.Sort(names, func(a, b string) int { return cmp.Compare(ids[a], ids[b]) })
	var pairs []pair
	for _, n := range names {
		pairs = append(pairs, pair{n, json.RawMessage(strconv.Itoa(ids[n]))})
	}
	var out bytes.Buffer
	writeObject(&out, pairs, "", "    ")
	_, err := w.Write(ascii(out.Bytes()))
	return err
}

// renamed maps columns of the summary to their names in the report, if they differ.
var renamed = map[string]string{
	"Organization": "Submitter", "Division": "Category", "SystemType": "Suite", "SystemName": "System",
	"number_of_nodes": "Nodes", "host_processor_model_name": "Processor", "accelerator_model_name": "Accelerator",
	"accelerators_per_node": "a#", "total_accelerators": "Total Accelerators", "notes": "Notes", "framework": "Software",
	"Model": "UsedModel", "MlperfModel": "Model",
}

// finalTable is the summary with a type per column, which the organisers' reader infers from all values.
type finalTable struct {
	rows []row
	kind map[string]string
}

// notAvailable lists the texts that the reader treats as missing values.
var notAvailable = keySet("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
	"<NA>", "N/A",
	"NA", "NULL", "NaN", "n/a", "nan", "null")

func newFinalTable(results []Result) finalTable {
	t := finalTable{kind: map[string]string{}}
	for _, one := range results {
		if one.Valid {
			t.rows = append(t.rows, one.row)
		}
	}
	for _, c := range columns {
		t.kind[c] = t.guess(c)
	}
	return t
}

func (t finalTable) guess(column string) string {
	whole, numeric, boolean, gaps := true, true, true, false
	for _, r := range t.rows {
		v := r[column]
		if notAvailable[v] {
			gaps = true
			continue
		}
		if _, err := strconv.ParseInt(v, 10, 64); err != nil {
			whole = false
		}
		if f, err := strconv.ParseFloat(v, 64); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			numeric = false
		}
		boolean = boolean && (v == "True" || v == "False")
	}
	switch {
	case numeric && whole && !gaps:
		return "int"
	case numeric:
		return "float"
	case boolean && !gaps:
		return "bool"
	}
	return "text"
}

// value returns a column's value in the format of the report's JSON.
func (t finalTable) value(r row, column string) json.RawMessage {
	v := r[column]
	if notAvailable[v] {
		return json.RawMessage(`""`)
	}
	switch t.kind[column] {
	case "int":
		n, _ := strconv.ParseInt(v, 10, 64)
		return json.RawMessage(strconv.FormatInt(n, 10))
	case "float":
		f, _ := strconv.ParseFloat(v, 64)
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', 10, 64), 64) // the reader keeps ten decimals
		return json.RawMessage(pyrepr.Float(f))
	case "bool":
		return json.RawMessage(strings.ToLower(v))
	}
	return quoted(v)
}

func quoted(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string is always encodable
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

type pair struct {
	key   string
	value json.RawMessage
}

// finalEntry is one result in the report, with its sort keys.
type finalEntry struct {
	id, category, availability, submitter, unique, used, scenario, unit string
	pairs                                                               []pair
}

func (t finalTable) entry(r row, o FinalOptions) finalEntry {
	e := finalEntry{category: r["Division"], availability: r["Availability"], submitter: r["Organization"],
		used: r["Model"], scenario: canonical(r["Scenario"]), unit: r["Units"]}
	e.unique = strings.Join([]string{r["SystemType"], e.category, e.submitter, r["Platform"]}, "/")
	if e.category == "open" {
		e.unique += "/" + e.used
	}
	for _, c := range columns {
		if c == "Result" || c == "Units" {
			continue
		}
		name := c
		if n, ok := renamed[c]; ok {
			name = n
		}
		e.pairs = append(e.pairs, pair{name, t.adapted(r, c)})
	}
	base := "https://github.com/" + strings.Join([]string{o.Owner, o.Repository, "tree", o.Branch, e.category,
		e.submitter}, "/")
	processors := json.RawMessage(`""`)
	if n, ok := pyInt(r["host_processors_per_node"]); ok {
		processors = json.RawMessage(n.String())
	}
	e.pairs = append(e.pairs,
		pair{"p#", processors},
		pair{"Details", quoted(base + "/results/" + r["Platform"])}, pair{"Code", quoted(base + "/src")},
		pair{"Unique ID (e.g. for Audit)", quoted(e.unique)}, pair{"ColorKey", quoted(e.availability + e.submitter)},
		pair{"Performance_Result", t.value(r, "Result")}, pair{"Performance_Units", quoted(e.unit)})
	return e
}

// adapted applies the report's clean-up of scenario names and missing accelerators.
func (t finalTable) adapted(r row, column string) json.RawMessage {
	switch v := t.value(r, column); {
	case column == "Scenario":
		return quoted(canonical(r[column]))
	case column == "accelerator_model_name" && r[column] == "-", column == "accelerators_per_node" && string(v) == "0":
		return json.RawMessage(`""`)
	default:
		return v
	}
}

// assignIDs assigns a number to each unique id, to new ones in order of appearance.
func assignIDs(entries []finalEntry, o FinalOptions) {
	last := 0
	for _, n := range o.IDs {
		last = max(last, n)
	}
	for i, e := range entries {
		if _, known := o.IDs[e.unique]; !known {
			last++
			o.IDs[e.unique] = last
		}
		entries[i].id = fmt.Sprintf("%s-%04d", o.Version, o.IDs[e.unique])
		entries[i].pairs = slices.Concat([]pair{{"ID", quoted(entries[i].id)}}, e.pairs)
	}
}

func writeEntries(w io.Writer, entries []finalEntry) error {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, e := range entries {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n  ")
		writeObject(&out, e.pairs, "  ", "  ")
	}
	if len(entries) > 0 {
		out.WriteByte('\n')
	}
	out.WriteByte(']')
	_, err := w.Write(ascii(out.Bytes()))
	return err
}

func writeObject(out *bytes.Buffer, pairs []pair, indent, step string) {
	out.WriteByte('{')
	for i, p := range pairs {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n%s%s%s: %s", indent, step, quoted(p.key), p.value)
	}
	out.WriteString("\n" + indent + "}")
}

// ascii escapes other characters like the organisers' JSON writer.
func ascii(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return out
}
