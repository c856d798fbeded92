package startup

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// composed has the wordings of vLLM at DEBUG, with two processes, across New Year.
const composed = `(APIServer pid=1) INFO 12-31 23:59:50.000 End model m serialization
(APIServer pid=10) DEBUG 12-31 23:59:55.000 [plugins/__init__.py:28] No plugins for group vllm.platform_plugins found.
(APIServer pid=10) INFO 12-31 23:59:56.500 [__init__.py:216] Automatically detected platform cuda.
(APIServer pid=10) DEBUG 12-31 23:59:58.500 [plugins/__init__.py:36] Available plugins for group vllm.general_plugins:
(APIServer pid=10) INFO 01-01 00:00:01.500 [api_server.py:1] vLLM API server version 0.24.0
(APIServer pid=10) INFO 01-01 00:00:01.600 [utils.py:2] non-default args: {'model': 'org/m', 'enable_sleep_mode': True}
(APIServer pid=10) INFO 01-01 00:00:04.500 [model.py:3] Using max model len 4096
(EngineCore pid=20) DEBUG 01-01 00:00:06 [core.py:4] Waiting for init message from front-end.
(EngineCore pid=20) INFO 01-01 00:00:06 [core.py:5] config: model='org/m', load_format=runai_streamer, seed=0
(EngineCore pid=20) INFO 01-01 00:00:07 [runner.py:6] Starting to load model org/m...
(EngineCore pid=20) INFO 01-01 00:00:12 [runner.py:7] Model loading took 10.0 GB and 4.000000 seconds
(EngineCore pid=20) DEBUG 01-01 00:00:13 [backends.py:8] Start compiling function <code object forward>
(EngineCore pid=20) INFO 01-01 00:00:16 [backends.py:9] Dynamo bytecode transform time: 3.10 s
(EngineCore pid=20) INFO 01-01 00:00:20 [backends.py:10] Compiling a graph for dynamic shape 8 takes 3.2 s
(EngineCore pid=20) INFO 01-01 00:00:21 [monitor.py:11] torch.compile takes 7.30 s in total
(EngineCore pid=20) DEBUG 01-01 00:00:22 [worker.py:12] Initial free memory: 79.5 GiB; Requested memory: 0.9
(EngineCore pid=20) DEBUG 01-01 00:00:22 [worker.py:13] Free memory after profiling: 60.25 GiB (total)
(EngineCore pid=20) DEBUG 01-01 00:00:22 [worker.py:14] Memory profiling takes 8.50 seconds. Total 3 MiB
(EngineCore pid=20) INFO 01-01 00:00:31 [core.py:15] init engine (profile, warmup model) took 18.5 seconds
(APIServer pid=10) INFO 01-01 00:00:32 [api_server.py:16] Starting vLLM API server 0 on http://0.0.0.0:8000
(APIServer pid=10) INFO 01-01 00:00:32 [launcher.py:28] Available routes are:
(APIServer pid=10) INFO 01-01 00:00:33 [launcher.py:36] Route: /metrics, Methods: GET
--- gpu scenario start name: x
gpu_uuid='GPU-1', gpu_name='H100', compute_cap='9.0', persistence_mode='Enabled'
--- gpu scenario end name: x
(EngineCore pid=20) INFO 01-01 00:01:00 [a.py:1] Sleep mode freed 50.5 GiB memory, 1.5 GiB memory is still in use.
(EngineCore pid=20) INFO 01-01 00:01:00 [a.py:2] It took 2.5 seconds to fall asleep.
(EngineCore pid=20) INFO 01-01 00:01:09 [a.py:3] It took 0.75 seconds to wake up tags {'weights'}.
`

func parse(text string, o Options) (*Report, error) {
	return Parse("x.log", strings.NewReader(text), o)
}

func TestVLLM(t *testing.T) {
	r, err := parse(composed, Options{Start: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	require.Equal(t, []string{"vllm", "0.24.0", "org/m", "runai_streamer"},
		[]string{r.Server, r.Version, r.Model, r.LoadFormat})
	require.True(t, r.SleepMode)
	require.Equal(t, time.Date(2027, 1, 1, 0, 0, 32, 0, time.UTC), *r.Ready, "the year after")
	require.Empty(t, r.Notes)

	var want Engine
	want.Load.Size, want.Load.Time, want.Load.Rate = 10, 4, 2.5
	want.Dynamo, want.CompileGraph, want.Compile, want.InitEngine = 3.1, 3.2, 7.3, 18.5
	want.Memory.InitialFree, want.Memory.AfterFree, want.Memory.Time = 79.5, 60.25, 8.5
	require.Equal(t, want, r.Engine)
	require.Equal(t, []GPU{{"GPU-1", "H100", "9.0", "Enabled"}}, r.GPUs)
	asleep, awake := time.Date(2027, 1, 1, 0, 1, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 1, 9, 0, time.UTC)
	require.Equal(t, []Sleep{{At: &asleep, Type: "sleep", Time: 2.5, Freed: 50.5, InUse: 1.5},
		{At: &awake, Type: "wake", Time: 0.75}}, r.Sleeps)
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "2.500 s, 50.500 GiB freed, 1.500 GiB in use\n")
	require.Contains(t, text.String(), "0.750 s\n")

	gap := func(s float64) Category { return Category{Title: Uncategorized, Elapsed: s} }
	require.Equal(t, []Process{
		{"APIServer", 10, []Category{{"Detect Platform", 1.5, nil}, {"LLM Imports", 2, nil}, gap(3),
			{"Get Model Info", 3, nil}, gap(27.5), {"API Server Starts", 1, nil}}},
		{"EngineCore", 20, []Category{{"Worker Initialization", 1, nil}, {"Model Loading", 5, nil}, gap(1),
			{"Pytorch Compilation", 8, []Category{{"Dynamo", 3, nil}, {"Inductor", 5, nil}}},
			{"CUDA Graph Capture", 10, nil}}},
	}, r.Processes)
}

// TestText writes the tables for people, including a cluster's facts about the pod.
func TestText(t *testing.T) {
	r, err := parse(composed, Options{})
	require.NoError(t, err)
	r.Pod = &Pod{Name: "p", Container: "server", Image: "i:1", Start: 41}
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	for _, want := range []string{"pod start             41 s\n", "transfer rate         2.500 GiB/s\n",
		"sleep                 2.500 s, 50.500 GiB freed, 1.500 GiB in use\n", "\nEngineCore (process 20)\n",
		"\nPytorch Compilation    8.000 s\n  Dynamo               3.000 s\n"} {
		require.Contains(t, text.String(), want)
	}
	result := r.Result()
	require.Equal(t, "standalone", result["scenario"].(map[string]any)["deploy_methods"])
	engine := result["vllm_metrics"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"p server", 41.0}, []any{engine["name"], engine["pod_start"]})
}

// With several ranks each worker is a process of its own, whose start has all its parts. Containers may put a time and
// a bar before each line.
func TestRanksOfVLLM(t *testing.T) {
	r, err := parse(strings.ReplaceAll(`
(APIServer pid=1) INFO 10-21 09:11:10 [utils.py:233] non-default args: {'model': 'm', 'tensor_parallel_size': 2}
(EngineCore_DP0 pid=2) INFO 10-21 09:11:30 [core.py:644] Waiting for init message from front-end.
(EngineCore_DP0 pid=2) (Worker_TP0 pid=3) INFO 10-21 09:11:35 [parallel_state.py:1206] rank 0 in world size 2 is assigned
(EngineCore_DP0 pid=2) (Worker_TP0 pid=3) INFO 10-21 09:11:40 [runner.py:2602] Starting to load model m...
(EngineCore_DP0 pid=2) (Worker_TP0 pid=3) INFO 10-21 09:11:46 [runner.py:2653] Model loading took 61 GiB and 5.5 seconds
(EngineCore_DP0 pid=2) (Worker_TP0 pid=3) INFO 10-21 09:11:46 [backends.py:548] Using cache directory: /x
(EngineCore_DP0 pid=2) (Worker_TP0 pid=3) INFO 10-21 09:11:53 [backends.py:559] Dynamo bytecode transform time: 4.42 s
(EngineCore_DP0 pid=2) (Worker_TP0 pid=3) INFO 10-21 09:11:56 [monitor.py:34] torch.compile takes 7.14 s in total
(EngineCore_DP0 pid=2) (Worker_TP0 pid=3) INFO 10-21 09:12:04 [runner.py:3480] Graph capturing finished in 7 secs
(EngineCore_DP0 pid=2) INFO 10-21 09:12:04 [core.py:210] init engine (profile, warmup model) took 25.99 seconds
(APIServer pid=1) INFO 10-21 09:12:14 [launcher.py:34] Available routes are:`, "\n(", "\n2026-10-21 11:00:00.000 | ("),
		Options{Start: time.Date(2026, 10, 21, 9, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	require.Equal(t, []float64{25.99, 7.14, 4.42, 61, 5.5},
		[]float64{r.Engine.InitEngine, r.Engine.Compile, r.Engine.Dynamo, r.Engine.Load.Size, r.Engine.Load.Time})
	titles := map[string][]string{}
	for _, p := range r.Processes {
		for _, c := range p.Categories {
			titles[p.Name] = append(titles[p.Name], c.Title)
		}
	}
	require.Equal(t, map[string][]string{"Worker_TP0": {"Worker Initialization", "Model Loading", "Pytorch Compilation",
		"CUDA Graph Capture"}}, titles)
}

func TestSGLang(t *testing.T) {
	r, err := parse(`[2026-05-01 10:00:00] server_args=ServerArgs(model_path='org/s', load_format='auto')
[2026-05-01 10:00:05 TP0] Init torch distributed begin.
[2026-05-01 10:00:06 TP0] Init torch distributed ends. mem usage=0.10 GB
[2026-05-01 10:00:07 TP0] Load weight begin. avail mem=78.00 GB
[2026-05-01 10:00:17 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=62.0 GB, mem usage=15.5 GB.
[2026-05-01 10:00:18 TP0] Memory pool end. avail mem=8.1 GB
[2026-05-01 10:00:19 TP0] Capture cuda graph begin. This can take up to several minutes.
[2026-05-01 10:00:29 TP0] Capture cuda graph end. Time elapsed: 10.0 s.
[2026-05-01 10:00:30] INFO:     Started server process [1]
[2026-05-01 10:00:33] The server is fired up and ready to roll!
`, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"sglang", "org/s", "auto"}, []string{r.Server, r.Model, r.LoadFormat})
	require.Equal(t, []float64{15.5, 10}, []float64{r.Engine.Load.Size, r.Engine.Load.Time}, "the log has no time")
	require.Equal(t, 33*time.Second, r.Ready.Sub(*r.Started))
	sums := map[string]float64{}
	for _, p := range r.Processes {
		for _, c := range p.Categories {
			sums[p.Name] += c.Elapsed
		}
	}
	require.Equal(t, map[string]float64{"TP0": 24, "main": 3}, sums, "the categories and the gaps tile the start")
}

// Lines after version 0.5.10, of two ranks with a draft model. The slowest rank counts, each rank is a process, and
// parts that are loaded or captured twice are listed twice.
func TestNewerSGLang(t *testing.T) {
	r, err := parse(`[2026-05-01 10:00:00] server_args=ServerArgs(model_path='org/s', load_format='auto')
[2026-05-01 10:00:01 TP0] Init torch distributed begin.
[2026-05-01 10:00:01 TP1] Init torch distributed begin.
[2026-05-01 10:00:03 TP1] Init torch distributed ends. elapsed=2.00 s, mem usage=0.09 GB
[2026-05-01 10:00:04 TP0] Init torch distributed ends. elapsed=3.00 s, mem usage=0.09 GB
[2026-05-01 10:00:04 TP0] Load weight begin. avail mem=78.00 GB
[2026-05-01 10:00:04 TP1] Load weight begin. avail mem=78.25 GB
[2026-05-01 10:00:10 TP0] Load weight end. elapsed=6.19 s, type=Main, quant=fp8, avail mem=62.0 GB, mem usage=15.5 GB.
[2026-05-01 10:00:11 TP0] Load weight begin. avail mem=62.00 GB
[2026-05-01 10:00:12 TP1] Load weight end. elapsed=8.06 s, type=Main, quant=fp8, avail mem=62.0 GB, mem usage=15.6 GB.
[2026-05-01 10:00:13 TP0] Load weight end. elapsed=1.98 s, type=Draft, avail mem=61.0 GB, mem usage=1.00 GB.
[2026-05-01 10:00:14 TP0] Using KV cache dtype: torch.bfloat16
[2026-05-01 10:00:15 TP0] Memory pool end. avail mem=8.1 GB
[2026-05-01 10:00:15 TP0] Init attention backend begin.
[2026-05-01 10:00:16 TP0] Init attention backend end. elapsed=0.98 s
[2026-05-01 10:00:16 TP0] Capture target prefill CUDA graph begin. backend=full, num_tokens=[4], avail mem=8.0 GB
[2026-05-01 10:00:18 TP0] Capture target prefill CUDA graph end. elapsed=2.00 s, mem usage=0.2 GB, avail mem=7.8 GB.
[2026-05-01 10:00:19 TP0] Capture draft decode CUDA graph begin. backend=full, bs=[1], avail mem=7.8 GB
[2026-05-01 10:00:22 TP0] Capture draft decode CUDA graph end. elapsed=3.00 s, mem usage=0.2 GB, avail mem=7.6 GB.
[2026-05-01 10:00:23] INFO:     Started server process [1]
[2026-05-01 10:00:25] The server is fired up and ready to roll!
`, Options{})
	require.NoError(t, err)
	require.Equal(t, []float64{8.06, 15.6, 78.25}, []float64{r.Engine.Load.Time, r.Engine.Load.Size,
		r.Engine.Memory.InitialFree})
	require.InDelta(t, 15.6/8.06, r.Engine.Load.Rate, 1e-9)
	gap := Category{Title: Uncategorized, Elapsed: 1}
	require.Equal(t, []Process{
		{"TP0", 0, []Category{{"Worker Initialization", 3, nil}, {"Model Loading", 6, nil}, gap, {"Model Loading", 2, nil},
			gap, {"KV Cache Allocation", 1, nil}, {"Attention Backend", 1, nil}, {"CUDA Graph Capture", 2, nil}, gap,
			{"CUDA Graph Capture", 3, nil}}},
		{"TP1", 0, []Category{{"Worker Initialization", 2, nil}, gap, {"Model Loading", 8, nil}}},
		{"main", 0, []Category{{"API Server Starts", 2, nil}}},
	}, r.Processes)
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "\nTP1\n")
}

// TestReportOfNop validates the report v0.1: no request, and the start with units.
func TestReportOfNop(t *testing.T) {
	s, err := schematest.Compile("ldb-0.1.schema.json", schema.LDB01)
	require.NoError(t, err)
	r, err := parse(composed, Options{})
	require.NoError(t, err)
	decoded := func() (v map[string]any) {
		report, err := r.LDB()
		require.NoError(t, err)
		text, err := yaml.Marshal(report)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, &v))
		return v
	}
	at := func(v any, path ...any) any {
		for _, key := range path {
			if i, ok := key.(int); ok {
				v = v.([]any)[i]
			} else {
				v = v.(map[string]any)[key.(string)]
			}
		}
		return v
	}
	v := decoded()
	require.NoError(t, s.Validate(v))
	require.Equal(t, "nop", at(v, "scenario", "load", "name"))
	require.Equal(t, []any{"runai_streamer", true}, []any{at(v, "scenario", "metadata", "load_format"),
		at(v, "scenario", "metadata", "sleep_mode")})
	require.Equal(t, 0, at(v, "metrics", "requests", "total"))
	require.InDelta(t, 30.4, at(v, "metrics", "time", "duration"), 1e-9)
	figures := at(v, "metrics", "metadata", 0, "value", 0)
	require.Equal(t, map[string]any{"units": "GiB/s", "value": 2.5}, at(figures, "load", "transfer_rate"))
	require.Equal(t, map[string]any{"units": "s", "value": 2.5}, at(figures, "sleep_wake", 0, "time"))
	require.NotNil(t, at(figures, "sleep_wake", 1, "timestamp"))
	require.Equal(t, map[string]any{"units": "GiB", "value": 79.5}, at(figures, "memory_profiling", "initial_free"))
	require.Equal(t, []any{"Detect Platform", map[string]any{"units": "s", "value": 1.5}, "APIServer"},
		[]any{at(figures, "categories", 0, "title"), at(figures, "categories", 0, "elapsed"),
			at(figures, "categories", 0, "process", "name")})
	require.NotContains(t, figures, "load_cached_compiled_graph", "the log lacks it")

	r.Pod = &Pod{Name: "p", Container: "server", Start: 41}
	v = decoded()
	require.NoError(t, s.Validate(v))
	require.Equal(t, "p server", at(v, "scenario", "platform", "engine", 0, "name"))
	require.Equal(t, "standalone", at(v, "scenario", "metadata", "deploy_methods"))
	require.EqualValues(t, 41, at(v, "metrics", "metadata", 0, "value", 0, "pod_start", "value"))

	r, err = parse("INFO 11-24 14:33:21 non-default args: {}\nINFO 11-24 14:33:22 Using max model len 1\n", Options{})
	require.NoError(t, err)
	v = decoded()
	require.NoError(t, s.Validate(v), "a start that did not end")
	require.NotContains(t, at(v, "metrics", "metadata", 0, "value", 0), "torch_compile", "the log lacks it")
}

// TestCycle puts a server to sleep, waits until it sleeps, and wakes it.
func TestCycle(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string // status and body of each request
		want    []string
		err     string
	}{
		"good": {[]string{"200", `200{"is_sleeping":false}`, `200{"is_sleeping":true}`, "200"},
			[]string{"POST /sleep?level=1", "GET /is_sleeping", "GET /is_sleeping", "POST /wake_up"}, ""},
		"no route": {[]string{"404"}, []string{"POST /sleep?level=1"}, "VLLM_SERVER_DEV_MODE=1"},
		"refused":  {[]string{"500busy"}, []string{"POST /sleep?level=1"}, `status 500: "busy"`},
		"junk": {[]string{"200", "200[]", "200"}, []string{"POST /sleep?level=1", "GET /is_sleeping", "POST /wake_up"},
			`GET /is_sleeping: unexpected answer with status 200: "[]"`},
		"does not wake": {[]string{"200", `200{"is_sleeping":true}`, "500"},
			[]string{"POST /sleep?level=1", "GET /is_sleeping", "POST /wake_up"}, "POST /wake_up: status 500"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := Cycle(t.Context(), func(_ context.Context, method, path string) (int, []byte, error) {
				answer := c.answers[len(got)]
				got = append(got, method+" "+path)
				status, err := strconv.Atoi(answer[:3])
				return status, []byte(answer[3:]), err
			})
			require.Equal(t, c.want, got)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := Cycle(ctx, func(context.Context, string, string) (int, []byte, error) {
		return 200, []byte(`{"is_sleeping":false}`), nil
	})
	require.ErrorContains(t, err, "does not report that it sleeps")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestBadLogs(t *testing.T) {
	for _, text := range []string{"", "hello\n", "vllm\n", strings.Repeat("x", 3<<20)} {
		_, err := parse(text, Options{})
		require.ErrorContains(t, err, "no line of a server's start")
	}
	_, err := parse("INFO 11-24 14:33:21 non-default args: {}\n", Options{Server: "sglang"})
	require.ErrorContains(t, err, "has no line of a start of sglang, but some of vllm")
	_, err = parse("", Options{Server: "tgi"})
	require.ErrorContains(t, err, "there are those of vllm and sglang")
	r, err := parse("INFO 11-24 14:33:21 non-default args: {}\nINFO 11-24 14:33:22 Using max model len 1\n", Options{})
	require.NoError(t, err)
	require.Len(t, r.Notes, 2)
	require.Contains(t, r.Notes[1], "VLLM_LOGGING_LEVEL=DEBUG")
}

func FuzzParse(f *testing.F) {
	f.Add(composed)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parse(text, Options{})
		if err != nil {
			return
		}
		for _, p := range r.Processes {
			for _, c := range p.Categories {
				require.GreaterOrEqual(t, c.Elapsed, 0.0)
			}
		}
	})
}

// TestFirstValuesCount reads a log in which a second worker repeats its numbers, and one that began last year.
func TestFirstValuesCount(t *testing.T) {
	again := composed + "(EngineCore pid=21) INFO 01-01 00:00:40 [runner.py:7] Model loading took 99.0 GB and 77 seconds\n"
	r, err := parse(again, Options{Start: time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	require.Equal(t, 4.0, r.Engine.Load.Time)
	require.Equal(t, 10.0, r.Engine.Load.Size)

	soon := time.Now().UTC().AddDate(0, 0, 3) // a day that has not come this year
	r, err = parse(strings.ReplaceAll(composed, "01-01 ", soon.Format("01-02 ")), Options{})
	require.NoError(t, err)
	require.True(t, r.Ready.Before(time.Now()), "%v", r.Ready)
}
