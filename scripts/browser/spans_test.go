//go:build browser

package browser

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// traced is a page's reading of a trace by the rules of the Trace Event Format.
type traced struct {
	Faults    []string       `json:"faults"` // the first events that break a rule
	Slices    map[string]int `json:"slices"` // complete events by name
	Asyncs    map[string]int `json:"asyncs"` // pairs of async events by name
	Processes []string       `json:"processes"`
}

// readTrace reads the trace in the tab. It applies the rules of the document "Trace Event Format": the fields of each
// phase with their types, nesting of the complete events of a thread, and one end for each begin of an async event.
const readTrace = `(() => {
	const trace = JSON.parse(document.body.textContent);
	const result = {faults: [], slices: {}, asyncs: {}, processes: []};
	const fault = (why, event) => {
		if (result.faults.length < 5) result.faults.push(why + ": " + JSON.stringify(event));
	};
	const count = (of, name) => of[name] = (of[name] || 0) + 1;
	const threads = {}, begun = {};
	for (const e of trace.traceEvents) {
		const numbers = {X: ["pid", "tid", "ts", "dur"], b: ["pid", "tid", "ts"], e: ["pid", "tid", "ts"], M: ["pid"]}[e.ph];
		if (!numbers) { fault("phase", e); continue; }
		if (typeof e.name !== "string" || numbers.some(n => typeof e[n] !== "number" || e[n] < 0)) fault("field", e);
		const key = [e.cat, e.id, e.name].join(" ");
		switch (e.ph) {
		case "M": if (e.name === "process_name") result.processes.push(e.args.name); break;
		case "X": count(result.slices, e.name); (threads[e.pid + " " + e.tid] ||= []).push(e); break;
		case "b": if (begun[key]) fault("begun twice", e); begun[key] = e; break;
		case "e":
			if (!begun[key] || begun[key].ts > e.ts) fault("no begin", e);
			delete begun[key]; count(result.asyncs, e.name);
		}
	}
	Object.values(begun).forEach(e => fault("no end", e));
	for (const events of Object.values(threads)) {
		const open = [];
		for (const e of events.sort((a, b) => a.ts - b.ts || b.dur - a.dur)) {
			while (open.length && open.at(-1) <= e.ts + 1e-6) open.pop();
			if (open.length && e.ts + e.dur > open.at(-1) + 1e-3) fault("crosses its parent", e);
			open.push(e.ts + e.dur);
		}
	}
	return result;
})()`

// The file of --trace-spans loads in a browser and follows the Trace Event Format: every request has its spans, and
// they nest. Debian's Chromium has no chrome://tracing page (net::ERR_FAILED in 156), so the test cannot use Chrome's
// importer.
func TestTheSpansFollowTheTraceEventFormat(t *testing.T) {
	s := startServer(t, "--ttft", "20ms", "--tpot", "1ms")
	path := filepath.Join(t.TempDir(), "spans.json")
	mlperf(t, 0, s.runArgs(filepath.Join(recordFolder(t), "run"), "--trace-spans", path)...)
	tab := newTab(t)
	open(t, tab, "file://"+path)
	trace := eval[traced](t, tab, readTrace)

	require.Empty(t, trace.Faults)
	requests := trace.Slices["request"]
	require.GreaterOrEqual(t, requests, 700) // of runArgs
	for _, name := range []string{"first token", "stream", "complete"} {
		require.Equal(t, requests, trace.Slices[name], name)
	}
	for _, name := range []string{"issue", "send"} {
		require.Equal(t, requests, trace.Asyncs[name], name)
	}
	require.Equal(t, 1, trace.Slices["flush"])
	require.Contains(t, trace.Processes, s.url)

	broken := eval[traced](t, tab, `(document.body.textContent = JSON.stringify({traceEvents: [
		{ph: "X", name: "a", pid: 1, tid: 1, ts: 0, dur: 5}, {ph: "X", name: "b", pid: 1, tid: 1, ts: 3, dur: 5},
		{ph: "b", name: "c", pid: 1, tid: 1, ts: 0, id: 1}, {ph: "Q"}]}), `+readTrace+")")
	require.Len(t, broken.Faults, 3, "%q", broken.Faults)
}
