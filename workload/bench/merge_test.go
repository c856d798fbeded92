package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/workload/engine"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

// start is when the made-up shards began, in the coordinator's clock.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func workloadOf(seed uint64) *profile.Profile {
	p := profile.Defaults()
	p.Name, p.Seed = "merged", seed
	p.Data.Kind, p.Data.Input, p.Data.Output = profile.Random, profile.FixedAt(10), profile.FixedAt(2)
	p.Load.Stages = []profile.Stage{{Arrival: profile.Constant, Rate: 10, Requests: 4}}
	return p
}

// shardOf writes the run of a shard that sent some requests of one stage. Its clock is ahead.
func shardOf(t *testing.T, p *profile.Profile, verdict record.Verdict, ahead time.Duration, seqs ...int) Shard {
	t.Helper()
	folder := t.TempDir()
	text, err := p.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, ProfileName), text, 0o600))
	began := start.Add(ahead).UnixNano()
	w, err := eventlog.Create(filepath.Join(folder, eventlog.FileName), eventlog.Header{ID: "x", StartNS: began,
		Model: "m"})
	require.NoError(t, err)
	for _, seq := range seqs {
		due := began + int64(seq)*100e6
		require.NoError(t, w.Add(&eventlog.Request{Seq: seq, DueNS: due, ReadyNS: due, SentNS: due + 1000,
			FirstByteNS: due + 5e6,
			EndNS:       due + 20e6, Events: []eventlog.Event{{AtNS: due + 5e6, Tokens: 1}, {AtNS: due + 20e6, Tokens: 1}},
			AskedInput: 10, AskedOutput: 2, InputTokens: 10, OutputTokens: 2}))
	}
	require.NoError(t, w.Close(eventlog.End{Complete: true}))
	r := &Record{Schema: Schema, Profile: p.Name, Seed: p.Seed, Model: "m", API: "completions", Verdict: verdict,
		Client: Client{CPUS: 1, ThreadsMax: 3}, Endpoints: []Endpoint{{URL: "http://a", Connections: 2}},
		Stages: []Stage{{Span: engine.Span{StartNS: began, EndNS: began + 1e9, Requests: int64(len(seqs))}}}}
	if verdict != record.Valid {
		r.Reasons = []record.Cause{{Code: record.CodeClientLag, Text: "the client was late"}}
	}
	folderRecord(t, folder, r)
	return Shard{Folder: folder, Offset: shard.Offset{AheadNS: int64(ahead), BoundNS: 1e6}}
}

// folderRecord writes a record with the figures of its own log.
func folderRecord(t *testing.T, folder string, r *Record) {
	t.Helper()
	m, err := Remeasure(folder, r, "", nil)
	require.NoError(t, err)
	r.Measured = m
	require.NoError(t, atomicfile.WriteJSON(filepath.Join(folder, RecordName), r))
}

func TestMerge(t *testing.T) {
	p := workloadOf(1)
	shards := []Shard{shardOf(t, p, record.Valid, 0, 0, 2), shardOf(t, p, record.Valid, 3*time.Second, 1, 3)}
	for i, s := range shards {
		captured(t, s.Folder, record.MachineName, `{"cpu_model": "Quick CPU", "cpus": 8, "memory_bytes": 8589934592}`)
		captured(t, s.Folder, record.ServersName, fmt.Sprintf(`[{"url": "http://a", "version": "<b>%d"}]`, i))
	}
	output := filepath.Join(t.TempDir(), "merged")
	r, err := Merge(shards, output, nil)
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(output, ofShard(1, record.MachineName)), "it equals that of shard 0")
	shown, err := Report(output)
	require.NoError(t, err)
	tables := shown.Workload.Tables[len(shown.Workload.Tables)-2:]
	require.Equal(t, [][]string{{"0, 1", "Quick CPU", "8", "0", "8.0 GiB", "", "", "0"}}, tables[0].Rows)
	require.Equal(t, [][]string{{"0", "http://a", "", "<b>0", "0"}, {"1", "http://a", "", "<b>1", "0"}}, tables[1].Rows)
	schematest.Records(t, output)
	require.Equal(t, record.Valid, r.Verdict, "%v", r.Reasons)
	require.EqualValues(t, 4, r.Measured.Total.Requests.OK)
	require.EqualValues(t, 4, r.Stages[0].Requests)
	require.Equal(t, start.UnixNano(), r.Stages[0].StartNS)
	require.Equal(t, start.UnixNano()+1e9, r.Stages[0].EndNS, "both clocks are the coordinator's")
	require.Equal(t, 2.0, r.Client.CPUS)
	require.EqualValues(t, 4, r.Endpoints[0].Connections)
	require.EqualValues(t, 2e6, r.Spread.BoundNS)
	_, err = Merge(shards, output, nil)
	require.ErrorContains(t, err, "holds an earlier run")
}

// captured writes a file of the environment of a shard.
func captured(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestMergeOfBadShards lists shards that cannot be merged to a valid run.
func TestMergeOfBadShards(t *testing.T) {
	p := workloadOf(1)
	good := shardOf(t, p, record.Valid, 0, 0, 2)
	r, err := Merge([]Shard{good, shardOf(t, p, record.Invalid, 0, 1, 3)}, filepath.Join(t.TempDir(), "m"), nil)
	require.NoError(t, err)
	require.Equal(t, record.Invalid, r.Verdict)
	require.Equal(t, "shard 1: the client was late", r.Reasons[0].Text)
	r, err = Merge([]Shard{good, shardOf(t, p, record.Interrupted, 0, 1)}, filepath.Join(t.TempDir(), "m"), nil)
	require.NoError(t, err)
	require.Equal(t, record.Interrupted, r.Verdict)
	for want, other := range map[string]Shard{
		"request 0 is in the log of another shard too": good,
		"shard 1 ran the profile":                      shardOf(t, workloadOf(2), record.Valid, 0, 1),
		"shard 1: no workload's run":                   {Folder: t.TempDir()},
	} {
		_, err := Merge([]Shard{good, other}, filepath.Join(t.TempDir(), "m"), nil)
		require.ErrorContains(t, err, want)
	}
	_, err = Merge(nil, t.TempDir(), nil)
	require.ErrorContains(t, err, "no shard")
}
