//go:build cgo && !noloadgen

package loadgen_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// entry is one line of a detail log.
type entry struct {
	Key       string
	Value     any
	EventType string `json:"event_type"`
	Metadata  struct {
		IsError   bool `json:"is_error"`
		IsWarning bool `json:"is_warning"`
	}
}

// loadDependent matches entries that depend on the load of the machine.
var loadDependent = regexp.MustCompile(`^(Logging allocation detected|CAS failed|PerfClock and system_clock differ)`)

// bareNaN matches the text that LoadGen writes for 0/0, which is not valid JSON.
var bareNaN = regexp.MustCompile(`"value": -?nan\b`)

// readDetail reads a detail log. It counts the entries that depend on the machine's load but does not return them.
func readDetail(path string) (entries []entry, warnings, errs int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, 0, err
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		line, found := bytes.CutPrefix(line, []byte(":::MLLOG "))
		if !found {
			return nil, 0, 0, fmt.Errorf("%s line %d has no mark", path, i+1)
		}
		var e entry
		if err := decode(bareNaN.ReplaceAll(line, []byte(`"value": "nan"`)), &e); err != nil {
			return nil, 0, 0, fmt.Errorf("%s line %d: %w", path, i+1, err)
		}
		if s, ok := e.Value.(string); ok && loadDependent.MatchString(s) {
			warnings += btoi(e.Metadata.IsWarning)
			errs += btoi(e.Metadata.IsError)
			continue
		}
		entries = append(entries, e)
	}
	return entries, warnings, errs, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(to)
}

// answered is one record of an accuracy log.
type answered struct {
	SeqID      int    `json:"seq_id"`
	Index      int    `json:"qsl_idx"`
	Data       string `json:"data"`
	TokenData  string `json:"token_data"`
	TokenCount int    `json:"token_count"`
}

func readAccuracy(path string) (text []byte, records []answered, err error) {
	if text, err = os.ReadFile(path); err == nil {
		err = decode(text, &records)
	}
	return text, records, err
}

var (
	traceName  = regexp.MustCompile(`"name": ?"([^"]*)"`)
	tracePhase = regexp.MustCompile(`"ph": ?"(\w)"`)
	traceArgs  = regexp.MustCompile(`"args": ?\{(.*)\}`)
	traceArg   = regexp.MustCompile(`"(\w+)" ?:`)
	traceDelay = regexp.MustCompile(`"name":"Latency".*"issue_delay":(\d+)`)
)

// readTrace returns the kinds of a trace's events: name, then the distinct "phase|argument names". LoadGen's trace is
// not valid JSON, so readTrace matches lines.
func readTrace(path string) (map[string][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	kinds := map[string]map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		name := traceName.FindStringSubmatch(line)
		if name == nil {
			continue
		}
		var phase, args string
		if m := tracePhase.FindStringSubmatch(line); m != nil {
			phase = m[1]
		}
		if m := traceArgs.FindStringSubmatch(line); m != nil {
			var names []string
			for _, a := range traceArg.FindAllStringSubmatch(m[1], -1) {
				names = append(names, a[1])
			}
			args = strings.Join(names, ",")
		}
		if kinds[name[1]] == nil {
			kinds[name[1]] = map[string]bool{}
		}
		kinds[name[1]][phase+"|"+args] = true
	}
	out := map[string][]string{}
	for name, set := range kinds {
		for k := range set {
			out[name] = append(out[name], k)
		}
		sort.Strings(out[name])
	}
	return out, nil
}

// scheduleLags reads from a Server trace how many ns after its scheduled time each query was issued.
func scheduleLags(dir string) ([]int64, error) {
	text, err := os.ReadFile(filepath.Join(dir, "mlperf_log_trace.json"))
	if err != nil {
		return nil, err
	}
	var lags []int64
	for _, m := range traceDelay.FindAllSubmatch(text, -1) {
		var ns int64
		if _, err := fmt.Sscan(string(m[1]), &ns); err != nil {
			return nil, err
		}
		lags = append(lags, ns)
	}
	return lags, nil
}

// quantile returns the q-quantile of values, which it sorts.
func quantile(values []int64, q float64) int64 {
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	return values[min(int(q*float64(len(values))), len(values)-1)]
}
