package bench_test

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// restless returns a profile of 100 requests, some of whose clients leave or read slowly.
func restless(output float64, leave *profile.Leave, slow *profile.Slow) *profile.Profile {
	p := profile.Defaults()
	p.Name = "restless"
	p.Data = profile.Data{Kind: profile.Random, Input: profile.FixedAt(8), Output: profile.FixedAt(output)}
	p.Load = profile.Load{Leave: leave, Slow: slow,
		Stages: []profile.Stage{{Arrival: profile.Constant, Rate: 100, Requests: 100}}}
	return p
}

// latest counts the single requests of each Progress.
type latest struct{ requests int64 }

func (*latest) Note(string) {}

func (l *latest) Progress(p bench.Progress) {
	for range p.Latest {
		l.requests++
	}
}

// TestTheServerSeesClientsLeave compares a run with the counters of the simulator.
func TestTheServerSeesClientsLeave(t *testing.T) {
	url, s := simulator(t, 3*time.Millisecond) // slow, so that tokens of seconds are still to come when a client leaves
	folder := t.TempDir()
	p := restless(800, &profile.Leave{Share: 0.4, Tokens: &profile.Distribution{Kind: "uniform", Min: 1, Max: 50}},
		&profile.Slow{Share: 0.1, Pause: profile.FixedAt(0.001)})
	seen := new(latest)
	r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{url}, Folder: folder,
		Observer: seen, Details: true, Limits: []measure.Limit{{Metric: "ttft", Percent: 50, Below: 10 * time.Second}}})
	require.NoError(t, err)
	schematest.Records(t, folder)
	n := r.Measured.Total.Requests
	require.Equal(t, record.Valid, r.Verdict, "%v", r.Reasons)
	require.Zero(t, n.Failed)
	require.EqualValues(t, 100, n.Total)
	require.InDelta(t, 40, n.Leavers, 20)
	require.InDelta(t, 10, n.Slow, 9)
	require.Equal(t, n.Total, n.OK+n.Cancelled)
	require.NotZero(t, n.Cancelled)
	require.Less(t, n.Measured, n.Total-n.Cancelled)
	require.EqualValues(t, n.Measured, r.Measured.Total.Latency["ttft"].Count)
	require.Equal(t, n.Measured, seen.requests, "the observer saw those that are measured")
	require.GreaterOrEqual(t, r.Measured.Total.Tokens.Cancelled, n.Cancelled)
	require.Eventually(t, func() bool { return s.Stats().Aborted == n.Cancelled }, time.Minute, time.Millisecond,
		"the simulator saw %d clients leave, the run counted %d", s.Stats().Aborted, n.Cancelled)
}

// TestEveryClientLeaves: a run without a measured latency is not valid.
func TestEveryClientLeaves(t *testing.T) {
	for name, p := range map[string]*profile.Profile{
		"all leave":    restless(200, &profile.Leave{Share: 1, After: profile.FixedAt(0.005)}, nil),
		"all are slow": restless(200, nil, &profile.Slow{Share: 1, Rate: profile.FixedAt(1000)}),
	} {
		t.Run(name, func(t *testing.T) {
			r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{simulate(t)}, Folder: t.TempDir()})
			require.NoError(t, err)
			require.Equal(t, record.Invalid, r.Verdict)
			require.Equal(t, record.CodeFailedSamples, r.Reasons[len(r.Reasons)-1].Code)
			require.Contains(t, r.Reasons[len(r.Reasons)-1].Text, "no latency was measured")
		})
	}
}

// TestEverythingIsWarmup: a run of which every answer belongs to the warm-up or the cool-down is not valid.
func TestEverythingIsWarmup(t *testing.T) {
	long := profile.Window{Requests: 1000, Duration: time.Hour}
	for name, l := range map[string]profile.Load{"warm-up": {Warmup: long}, "cool-down": {Cooldown: long}} {
		t.Run(name, func(t *testing.T) {
			p := restless(2, nil, nil)
			l.Stages = []profile.Stage{{Arrival: profile.Constant, Rate: 1000, Requests: 20}}
			p.Load = l
			require.NoError(t, p.Validate())
			r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{simulate(t)}, Folder: t.TempDir()})
			require.NoError(t, err)
			require.Equal(t, record.Invalid, r.Verdict)
			require.Equal(t, []record.Code{record.CodeFailedSamples}, []record.Code{r.Reasons[0].Code})
			require.Contains(t, r.Reasons[0].Text, "all 20 answers belong to the warm-up or the cool-down")
		})
	}
}

// TestDefaultsOfProfiles: keys that may be absent have a value, in the run and in the profile of its folder.
func TestDefaultsOfProfiles(t *testing.T) {
	images := restless(2, nil, nil)
	images.API.Kind = "chat"
	images.Data = profile.Data{Kind: profile.Fixed, Text: "what is this?", Output: profile.FixedAt(2),
		Images: &profile.Images{Count: profile.FixedAt(1), Resolutions: []profile.Resolution{{Width: 8, Height: 8}}}}
	images.Load.Stages[0].Requests = 3
	sweep := restless(2, nil, nil)
	sweep.Load = profile.Load{Sweep: &profile.Sweep{Kind: "linear", Stages: 2, StageDuration: 300 * time.Millisecond,
		Probe: "throughput", InFlight: 2}}
	for name, p := range map[string]*profile.Profile{"images": images, "sweep": sweep} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, p.Validate())
			folder := t.TempDir()
			r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{simulate(t)}, Folder: folder})
			require.NoError(t, err)
			require.Positive(t, r.Measured.Total.Requests.Measured)
			_, err = profile.Read(filepath.Join(folder, "profile.yaml"))
			require.NoError(t, err)
		})
	}
}

// TestTokenizerOfTheProfile: a path that does not exist is an error, the name of a model is a note.
func TestTokenizerOfTheProfile(t *testing.T) {
	p := restless(2, nil, nil)
	p.Load.Stages[0].Requests = 3
	run := func() (*bench.Record, error) {
		return bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{simulate(t)}, Folder: t.TempDir()})
	}
	for _, path := range []string{"/no/such/tokenizer", "./tokenizer", "missing.json"} {
		p.API.Tokenizer = path
		_, err := run()
		require.ErrorContains(t, err, "api.tokenizer of the profile: stat "+path)
	}
	p.API.Tokenizer = "org/model"
	r, err := run()
	require.NoError(t, err)
	require.Contains(t, r.Notes, `the tokenizer of the profile, "org/model", is a name and not read; give its file with --tokenizer`)
}

// TestHTTP2RejectsConducts: the client of HTTP/2 cannot leave or read slowly. The profile is rejected before a
// measurement, and an earlier run that --force would replace is kept.
func TestHTTP2RejectsConducts(t *testing.T) {
	var http1, http2 atomic.Int64
	forward := simtest.Forward(t, simulate(t))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			map[int]*atomic.Int64{1: &http1, 2: &http2}[r.ProtoMajor].Add(1)
		}
		forward.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context()))) // else leaving cancels another request
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()

	options := func(folder string, p *profile.Profile) bench.Options {
		return bench.Options{Profile: p, Endpoints: []string{server.URL}, Folder: folder, Force: true,
			Transport: backends.Transport{HTTP2: true, InsecureSkipVerify: true}}
	}
	folder := t.TempDir()
	_, err := bench.Run(t.Context(), options(folder, restless(4, nil, nil)))
	require.NoError(t, err)
	before, sent := snapshot(t, folder), http2.Load()
	require.Greater(t, sent, int64(100), "the run used HTTP/2")
	for name, p := range map[string]*profile.Profile{
		"leave": restless(4, &profile.Leave{Share: 1, After: profile.FixedAt(0.005)}, nil),
		"slow":  restless(4, nil, &profile.Slow{Share: 1, Rate: profile.FixedAt(1000)}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bench.Run(t.Context(), options(folder, p))
			require.ErrorContains(t, err, "load.leave and load.slow: the client of HTTP/2 reads every answer")
			e := exit.Classify(err)
			require.Equal(t, []any{exit.StatusUsage, exit.CodeProfile}, []any{e.Exit, e.Code})
			require.Equal(t, before, snapshot(t, folder))
			require.LessOrEqual(t, http2.Swap(0), sent+2, "only the probe was sent")
			sent = 0
			o := options(t.TempDir(), p)
			o.Transport.HTTP2 = false
			r, err := bench.Run(t.Context(), o)
			require.NoError(t, err)
			require.EqualValues(t, 100, r.Measured.Total.Requests.Leavers+r.Measured.Total.Requests.Slow)
		})
	}
	require.Greater(t, http1.Load(), int64(100), "of the slow run; a client may leave during its TLS handshake")
}

// snapshot returns the files of a folder with their contents.
func snapshot(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	}))
	return all
}
