//go:build cgo && !noloadgen

package loadgen_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"sort"
	"strings"
)

// This file compares the logs of a run with the recorded ones.

func (g *golden) compareDetail(d *differences, entries []entry) {
	var recorded []goldenEntry
	for _, e := range g.Detail {
		if e.EventType == "" {
			e.EventType = "POINT_IN_TIME"
		}
		recorded = append(recorded, slices.Repeat([]goldenEntry{e}, max(e.Repeat, 1))...)
	}
	// The issuing and the answering thread write messages in any order; the recorded system had only one thread.
	sortRuns(recorded, func(e goldenEntry) (string, any) { return e.Key, e.Value })
	sortRuns(entries, func(e entry) (string, any) { return e.Key, e.Value })
	d.check(len(recorded) == len(entries), "%d detail entries, recorded %d", len(entries), len(recorded))
	for i := range min(len(recorded), len(entries)) {
		want, got := recorded[i], entries[i]
		if got.Key != want.Key {
			d.check(false, "detail entry %d: %s = %v, recorded %s = %v", i, got.Key, got.Value, want.Key, want.Value)
			break
		}
		want.compare(d, got)
	}
	g.compareGenerated(d, entries)
}

func (want *goldenEntry) compare(d *differences, got entry) {
	d.check(got.Metadata.IsError == want.IsError && got.Metadata.IsWarning == want.IsWarning,
		"%s: error and warning marks", want.Key)
	d.check(got.EventType == want.EventType, "%s: event type %s, recorded %s", want.Key, got.EventType, want.EventType)
	switch list, isList := got.Value.([]any); {
	case want.Hash != nil:
		d.check(isList && hashInts(toInts(list)) == *want.Hash && len(list) == *want.Count, "%s: another list", want.Key)
	case want.Volatile || want.Value == nil:
	case want.Key == "loadgen_version": // the recorded library was built without a revision
	default:
		d.check(sameValue(want.Value, got.Value), "%s: %v, recorded %v", want.Key, got.Value, want.Value)
	}
}

// sortRuns orders each unbroken run of messages by key and text.
func sortRuns[T any](list []T, of func(T) (string, any)) {
	isMessage := func(e T) bool {
		key, _ := of(e)
		return key == "error_runtime" || key == "generic_message" || key == "warning_generic_message"
	}
	text := func(e T) string { key, value := of(e); return fmt.Sprint(key, value) }
	for i := 0; i < len(list); i++ {
		j := i
		for j < len(list) && isMessage(list[j]) {
			j++
		}
		slices.SortStableFunc(list[i:j], func(a, b T) int { return strings.Compare(text(a), text(b)) })
		i = max(i, j-1)
	}
}

// compareGenerated compares what the log contains about each series of queries that LoadGen prepared.
func (g *golden) compareGenerated(d *differences, entries []entry) {
	told := map[string][]int{}
	for _, e := range entries {
		if strings.HasPrefix(e.Key, "generated_") {
			told[e.Key] = append(told[e.Key], toInts([]any{e.Value})...)
		}
	}
	var counts, sizes, durations []int
	for _, s := range g.Generated {
		counts, sizes, durations = append(counts, s.QueryCount), append(sizes, s.SamplesPerQuery),
			append(durations, s.DurationNS)
	}
	d.check(slices.Equal(counts, told["generated_query_count"]), "generated queries: %v, recorded %v",
		told["generated_query_count"], counts)
	d.check(slices.Equal(sizes, told["generated_samples_per_query"]), "generated samples per query: %v, recorded %v",
		told["generated_samples_per_query"], sizes)
	d.check(slices.Equal(durations, told["generated_query_duration"]), "generated durations: %v, recorded %v",
		told["generated_query_duration"], durations)
}

func toInts(list []any) []int {
	out := make([]int, len(list))
	for i, v := range list {
		n, _ := v.(json.Number).Int64()
		out[i] = int(n)
	}
	return out
}

func (g *golden) compareSummary(d *differences, path string, loaded bool) {
	text, err := os.ReadFile(path)
	d.check(err == nil, "%v", err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	d.check(len(lines) == len(g.Summary), "%d summary lines, recorded %d", len(lines), len(g.Summary))
	for i := range min(len(lines), len(g.Summary)) {
		if loaded && strings.Contains(lines[i], "encountered") || g.Summary[i] == nil {
			continue
		}
		d.check(matches(*g.Summary[i], lines[i]), "summary line %d: %q, recorded %q", i+1, lines[i], *g.Summary[i])
	}
	verdict := map[string]string{}
	for _, line := range lines {
		if name, value, ok := strings.Cut(line, ":"); ok &&
			(strings.HasPrefix(line, "Result is") || strings.HasSuffix(strings.TrimSpace(name), "satisfied")) {
			verdict[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	for name, value := range g.Verdict {
		d.check(verdict[name] == value, "verdict %q: %q, recorded %q", name, verdict[name], value)
	}
}

func (g *golden) compareAccuracy(d *differences, path string) {
	text, records, err := readAccuracy(path)
	d.check(err == nil, "%v", err)
	want := &g.AccuracyLog
	same(d, "accuracy log bytes", want.Bytes, len(text))
	same(d, "accuracy log entries", want.Entries, len(records))
	var ids []int
	for _, r := range records {
		ids = append(ids, r.SeqID)
	}
	if g.SUT.Complete != "inline" { // the answers come in another order, but the records are the same
		return
	}
	want.SeqIDs.compare(d, "accuracy log sequence ids", ids)
	h := fnv.New64a()
	h.Write(text)
	same(d, "accuracy log hash", want.Hash, fmt.Sprintf("%016x", h.Sum64()))
	same(d, "accuracy log", want.Text, string(text))
}

func (g *golden) compareTrace(d *differences, path string) {
	if g.TraceBytes != nil {
		info, err := os.Stat(path)
		d.check(err == nil && info.Size() == *g.TraceBytes, "trace file: %v %v, recorded %d bytes", info, err, *g.TraceBytes)
	}
	if g.Trace == nil {
		return
	}
	got, err := readTrace(path)
	d.check(err == nil, "%v", err)
	delete(g.Trace, "FirstAllocation") // event of an overflowing log buffer, which depends on the machine's load
	delete(got, "FirstAllocation")
	for name, kinds := range g.Trace {
		sort.Strings(kinds)
		d.check(slices.Equal(kinds, got[name]), "trace event %s: %v, recorded %v", name, got[name], kinds)
	}
	for name := range got {
		if _, known := g.Trace[name]; !known {
			d.check(false, "trace event %s is not recorded", name)
		}
	}
}
