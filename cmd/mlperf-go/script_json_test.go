package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mlperf-go/mlperf-go/run/record"
)

var expectation = regexp.MustCompile(`^([\w.-]+)(!=|=|>|~)(.*)$`)

// cmdRecord checks a run's record: record DIR path=value path!=value path>number path~part...
func cmdRecord(ts *testscript.TestScript, _ bool, args []string) {
	expect(ts, ts.ReadFile(filepath.Join(args[0], record.FileName)), args[1:])
}

// cmdJSON requires exactly one JSON object on the last command's stdout: json path=value...
func cmdJSON(ts *testscript.TestScript, _ bool, args []string) {
	expect(ts, ts.ReadFile("stdout"), args)
}

// cmdLogged requires one JSON object with a level and a message per line of the last command's stderr. For each word
// there must be a line that has all of its fields: logged path=value,path~part...
func cmdLogged(ts *testscript.TestScript, _ bool, args []string) {
	var all []map[string]any
	for l := range strings.Lines(ts.ReadFile("stderr")) {
		v, err := oneObject(l)
		if err != nil || v["level"] == nil || v["msg"] == nil || v["ts"] == nil {
			ts.Fatalf("not a line of the log: %v: %s", err, l)
		}
		all = append(all, v)
	}
	for _, wanted := range args {
		if !slices.ContainsFunc(all, func(v map[string]any) bool {
			for w := range strings.SplitSeq(wanted, ",") {
				m := expectation.FindStringSubmatch(w)
				if m == nil || !holds(lookup(v, strings.Split(m[1], ".")), m[2], m[3]) {
					return false
				}
			}
			return true
		}) {
			ts.Fatalf("no line with %s in:\n%s", wanted, ts.ReadFile("stderr"))
		}
	}
}

// cmdErrorJSON requires the error object (docs/reference/runs.md#errors-as-json) on stdout, with a message: errorjson
// CODE
func cmdErrorJSON(ts *testscript.TestScript, _ bool, args []string) {
	expect(ts, ts.ReadFile("stdout"), []string{"error.code=" + args[0], "error.message~" + strings.Join(args[1:], " ")})
}

func expect(ts *testscript.TestScript, text string, wants []string) {
	v, err := oneObject(text)
	if err != nil {
		ts.Fatalf("%v in:\n%s", err, text)
	}
	for _, w := range wants {
		m := expectation.FindStringSubmatch(w)
		if m == nil {
			ts.Fatalf("%q is not path=value, path!=value, path>number or path~part", w)
		}
		got := lookup(v, strings.Split(m[1], "."))
		if !holds(got, m[2], m[3]) {
			ts.Fatalf("%s does not hold: it is %q in:\n%s", w, got, text)
		}
	}
}

func oneObject(text string) (map[string]any, error) {
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("no JSON object: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the JSON object (%v)", err)
	}
	return v, nil
}

// lookup walks along a path. For a list it returns the values in its elements, joined by commas.
func lookup(v any, path []string) string {
	if list, ok := v.([]any); ok {
		var parts []string
		for _, e := range list {
			parts = append(parts, lookup(e, path))
		}
		return strings.Join(parts, ",")
	}
	if len(path) == 0 {
		if _, ok := v.(map[string]any); ok {
			return "{}"
		}
		return fmt.Sprint(v)
	}
	m, _ := v.(map[string]any)
	return lookup(m[path[0]], path[1:])
}

func holds(got, op, want string) bool {
	switch op {
	case "=":
		return got == want
	case "!=":
		return got != want
	case "~":
		return strings.Contains(got, want)
	}
	a, err1 := strconv.ParseFloat(got, 64)
	b, err2 := strconv.ParseFloat(want, 64)
	return err1 == nil && err2 == nil && a > b
}

// cmdRequests requires that a run's request log has one line for each issued sample, and the record's count of
// failures.
func cmdRequests(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Open(ts.MkAbs(filepath.Join(args[0], record.RequestsName)))
	ts.Check(err)
	defer f.Close()
	z, err := zstd.NewReader(f)
	ts.Check(err)
	defer z.Close()
	samples, failed := 0, 0
	for lines := bufio.NewScanner(z); ; {
		if !lines.Scan() {
			ts.Check(lines.Err())
			break
		}
		var line map[string]any
		ts.Check(json.Unmarshal(lines.Bytes(), &line))
		if _, ok := line["seq"]; !ok {
			continue // the header
		}
		samples++
		if reason, _ := line["reason"].(string); reason != "" {
			failed++
		}
	}
	if samples == 0 {
		ts.Fatalf("the request log has no sample")
	}
	expect(ts, ts.ReadFile(filepath.Join(args[0], record.FileName)), []string{
		fmt.Sprintf("samples.issued=%d", samples), fmt.Sprintf("samples.failed=%d", failed)})
}

// cmdFailures requires a line in failures.jsonl for each named reason: failures DIR REASON...
func cmdFailures(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(filepath.Join(args[0], record.FailuresName))
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		v, err := oneObject(line)
		ts.Check(err)
		seen[lookup(v, []string{"reason"})] = true
	}
	for _, reason := range args[1:] {
		if !seen[reason] {
			ts.Fatalf("no failure with reason %s among %v:\n%s", reason, seen, text)
		}
	}
}

// cmdAnswers reads LoadGen's accuracy log and counts answers with and without data: answers DIR
func cmdAnswers(ts *testscript.TestScript, _ bool, args []string) {
	var entries []struct{ Data string }
	text := ts.ReadFile(filepath.Join(args[0], record.LogFolder, "mlperf_log_accuracy.json"))
	ts.Check(json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&entries))
	empty, tokens := 0, 0
	for _, e := range entries {
		if e.Data == "" {
			empty++
		}
		tokens += len(e.Data) / 8 // a token has four bytes, each of two hexadecimal digits
	}
	expect(ts, ts.ReadFile(filepath.Join(args[0], record.FileName)), []string{
		fmt.Sprintf("samples.completed=%d", len(entries)), fmt.Sprintf("samples.failed=%d", empty),
		fmt.Sprintf("tokens.output=%d", tokens)})
}

// cmdSame requires that two spellings result in the same effective configuration. It leaves the notices about the first
// one in stderr: same OLD FLAGS... == NEW FLAGS...
func cmdSame(ts *testscript.TestScript, _ bool, args []string) {
	split := slices.Index(args, "==")
	if split < 0 {
		ts.Fatalf("usage: same old flags... == new flags...")
	}
	want := settingsOf(ts, args[split+1:])
	got := settingsOf(ts, args[:split])
	for name := range maps.Keys(want) {
		if _, ok := got[name]; !ok {
			got[name] = "nothing"
		}
	}
	for name, value := range got {
		if want[name] != value {
			ts.Fatalf("%s is %q in the old spelling and %q in the new", name, value, want[name])
		}
	}
}

func settingsOf(ts *testscript.TestScript, flags []string) map[string]string {
	ts.Check(ts.Exec("mlperf-go", append([]string{"run", "--print-config", "--json"}, flags...)...))
	v, err := oneObject(ts.ReadFile("stdout"))
	ts.Check(err)
	values := map[string]string{}
	settings, _ := v["settings"].(map[string]any)
	for name := range settings {
		values[name] = lookup(v, []string{"settings", name, "value"})
	}
	if len(values) == 0 {
		ts.Fatalf("no settings in %s", ts.ReadFile("stdout"))
	}
	return values
}
