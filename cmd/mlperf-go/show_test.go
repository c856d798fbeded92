package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/experiment"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/sweep"
	"github.com/mlperf-go/mlperf-go/tune"
	"github.com/mlperf-go/mlperf-go/workload/bench"
)

// FuzzShow prints folders with a foreign record of each kind. Every readable record is printed, as a table and as JSON,
// without a control character.
func FuzzShow(f *testing.F) {
	names := []string{record.FileName, layout.StateName, bench.RecordName, tune.FileName, sweep.FileName,
		experiment.FileName, tune.PeakName}
	schemas := []string{record.Schema, campaign.Schema, bench.Schema, tune.Schema, sweep.Schema, experiment.Schema,
		tune.PeakSchema}
	for kind, schema := range schemas {
		f.Add(uint8(kind), []byte(`{"schema":"`+schema+`"}`))
		f.Add(uint8(kind), []byte(`{"schema":"`+schema+`","model":"\u001b[31m","verdict":"VALID","reasons":[{"text":"\r\n"}],
			"steps":[{"id":"Server/performance","state":"\u0007","started":"2026-01-02T03:04:05Z","took_s":1e308}],
			"stages":[{}],"points":[{}],"probes":[{}],"arms":[{}],"latency_s":{"ttft":{"p99":-1e300}},"duration_s":1e308,
			"tails":[{"what":"x","limit_ns":-1}],"figures":{"total":{"latency_s":{"ttft":{}}},"stages":[{}]}}`))
		// another version, with fields of another form
		f.Add(uint8(kind), []byte(`{"schema":"`+strings.TrimSuffix(schema, "1")+`27","model":["m"],"verdict":"VALID",
			"reasons":"none","latency_s":[],"steps":[{"id":"Server/performance","state":{}}],"started":0,"figures":{"total":{}},
			"points":[{"rate":"x"}],"probes":[{"rate":"x"}],"arms":[{"name":1}],"duration_s":"long"}`))
	}
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		folder := t.TempDir()
		name := names[int(kind)%len(names)]
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
		s, err := readShown(folder, false, nil)
		if err != nil {
			return
		}
		var stdout, stderr bytes.Buffer
		cmd := showCommand{&program{console: newConsole(&stdout, &stderr, nil, &secret.Redactor{})}}
		require.NoError(t, cmd.print(s))
		require.NotEmpty(t, stdout.Bytes())
		for _, c := range stdout.Bytes() {
			require.False(t, c < ' ' && c != '\n' || c == 0x7f, "%q", stdout.String())
		}
		_, err = json.Marshal(s)
		require.NoError(t, err)
	})
}
