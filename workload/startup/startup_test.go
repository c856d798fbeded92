package startup

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	require.Equal(t, []Sleep{{Type: "sleep", Time: 2.5, Freed: 50.5, InUse: 1.5}, {Type: "wake", Time: 0.75}}, r.Sleeps)

	gap := func(s float64) Category { return Category{Title: Uncategorized, Elapsed: s} }
	require.Equal(t, []Process{
		{"APIServer", 10, []Category{{"Detect Platform", 1.5, nil}, {"LLM Imports", 2, nil}, gap(3),
			{"Get Model Info", 3, nil}, gap(27.5), {"API Server Starts", 1, nil}}},
		{"EngineCore", 20, []Category{{"Worker Initialization", 1, nil}, {"Model Loading", 5, nil}, gap(1),
			{"Pytorch Compilation", 8, []Category{{"Dynamo", 3, nil}, {"Inductor", 5, nil}}},
			{"CUDA Graph Capture", 10, nil}}},
	}, r.Processes)
}

// TestText writes the tables for people, and what a cluster knows of the pod.
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
	require.Equal(t, 15.5, r.Engine.Load.Size)
	require.Equal(t, 33*time.Second, r.Ready.Sub(*r.Started))
	sum := 0.0
	for _, c := range r.Processes[0].Categories {
		sum += c.Elapsed
	}
	require.Equal(t, 28.0, sum, "the categories and the gaps tile the start")
}

func TestBadLogs(t *testing.T) {
	for _, text := range []string{"", "hello\n", "vllm\n", strings.Repeat("x", 3<<20)} {
		_, err := parse(text, Options{})
		require.ErrorContains(t, err, "no line of a server's start")
	}
	_, err := parse("", Options{Server: "tgi"})
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
