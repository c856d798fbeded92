package startup

// category is a part of a start: from the first line with one of the starts to the first later one with one of the
// ends.
type category struct {
	title        string
	starts, ends []string
	instead      []string // ends for a process that has none of those
	below        []category
	repeats      bool // it may occur several times, such as for the model and its draft
	late         bool // whether it starts with the last of its starts before the end
}

// wordings are the marks of one kind of server.
type wordings struct {
	name       string
	sign       []string // any of them in a line shows that the log is this server's
	skip       []string // lines up to the first of these belong to an earlier program
	categories []category
}

// The wordings are llm-d-benchmark's table for vLLM (workload/harnesses/nop_functions.py), extended by those of version
// 0.32 (a recorded log) and by SGLang's (sglang/srt/managers, model_executor). SGLang's lines of graphs changed after
// version 0.5.10: "Capture cuda graph end. Time elapsed: 7 s" to "Capture draft decode CUDA graph end. elapsed=7 s".
var servers = []wordings{
	{
		name: "vllm",
		sign: []string{"vLLM API server version", "non-default args:", "Initializing a V1 LLM engine", "Starting vLLM",
			"vllm"},
		skip: []string{"End model "},
		categories: []category{
			{title: "Detect Platform", starts: []string{"No plugins for group"}, ends: []string{"detected platform"}},
			{title: "LLM Imports", starts: []string{"detected platform"}, ends: []string{"Available plugins for group"}},
			{title: "Get Model Info", starts: []string{"vLLM API server version", " version ", "non-default args:"},
				ends: []string{"Using max model len"}},
			// With several ranks each worker is a process of its own, in which the engine's lines are missing.
			{title: "Worker Initialization", starts: []string{"Waiting for init message", "Initializing a V1 LLM engine",
				" in world size "}, ends: []string{"Starting to load model"}},
			{title: "Model Loading", starts: []string{"Starting to load model"},
				ends: []string{"Model loading took", "Loading weights took"}},
			{title: "Pytorch Compilation", starts: []string{"Start compiling function", "torch/_dynamo",
				"Using cache directory", "Warming up model for the compilation"},
				ends: []string{"torch.compile takes", "torch.compile took", "Warming up done"},
				below: []category{
					{title: "Dynamo", starts: []string{"Start compiling function", "torch/_dynamo", "Using cache directory"},
						ends: []string{"Dynamo bytecode transform"}},
					{title: "Inductor", starts: []string{"Dynamo bytecode transform"},
						ends: []string{"torch.compile takes", "torch.compile took"}},
				}},
			{title: "CUDA Graph Capture", starts: []string{"torch.compile takes", "torch.compile took"},
				ends: []string{"init engine"}, instead: []string{"Graph capturing finished"}},
			{title: "API Server Starts", starts: []string{"Starting vLLM API server", "Starting vLLM server"},
				ends: []string{"Route: /metrics", "Application startup complete"}},
		},
	},
	{
		name: "sglang",
		sign: []string{"server_args=", "sglang", "The server is fired up"},
		categories: []category{
			{title: "Worker Initialization", starts: []string{"Init torch distributed begin"},
				ends: []string{"Init torch distributed ends"}},
			{title: "Model Loading", starts: []string{"Load weight begin"}, ends: []string{"Load weight end"}, repeats: true},
			{title: "KV Cache Allocation", starts: []string{"Load weight end", "Using KV cache dtype"},
				ends: []string{"Memory pool end"}, repeats: true, late: true},
			{title: "Attention Backend", starts: []string{"Init attention backend begin"},
				ends: []string{"Init attention backend end"}, repeats: true},
			{title: "CUDA Graph Capture", starts: []string{"cuda graph begin", "CUDA graph begin"},
				ends: []string{"cuda graph end", "CUDA graph end"}, repeats: true},
			{title: "API Server Starts", starts: []string{"Uvicorn running", "Started server process"},
				ends: []string{"The server is fired up"}},
		},
	},
}

// quantity is a number in a line: the text behind the mark, in the unit of the line. The first line with a mark counts,
// because each worker, or a server that is started again in the same log, may repeat it.
type quantity struct {
	marks []string
	into  func(*Engine, measured)
	every bool // every line counts; into combines them
}

var quantities = []quantity{
	{marks: []string{"Model loading took"}, into: func(e *Engine, m measured) {
		e.Load.Size, e.Load.Time = m.gib(), m.seconds()
	}},
	{marks: []string{"Loading weights took"}, into: func(e *Engine, m measured) { e.Load.Time = m.seconds() }},
	// Every rank of SGLang writes its own line, and one for a draft model. The slowest time and the largest count are
	// used.
	{every: true, marks: []string{"Load weight end"}, into: func(e *Engine, m measured) {
		e.Load.Size = max(e.Load.Size, m.after("mem usage="))
		e.Load.Time = max(e.Load.Time, m.after("elapsed="))
	}},
	{every: true, marks: []string{"Load weight begin"}, into: func(e *Engine, m measured) {
		e.Memory.InitialFree = max(e.Memory.InitialFree, m.after("avail mem="))
	}},
	{marks: []string{"Dynamo bytecode transform time"}, into: func(e *Engine, m measured) { e.Dynamo = m.seconds() }},
	{marks: []string{"Directly load the compiled graph(s) for "}, into: func(e *Engine, m measured) {
		e.CachedGraph = m.seconds()
	}},
	{marks: []string{"Compiling a graph for "}, into: func(e *Engine, m measured) { e.CompileGraph = m.seconds() }},
	{marks: []string{"torch.compile takes", "torch.compile took"}, into: func(e *Engine, m measured) {
		e.Compile = m.seconds()
	}},
	{marks: []string{"Initial free memory:"}, into: func(e *Engine, m measured) { e.Memory.InitialFree = m.gib() }},
	{marks: []string{"Free memory after profiling:"}, into: func(e *Engine, m measured) { e.Memory.AfterFree = m.gib() }},
	{marks: []string{"Memory profiling takes"}, into: func(e *Engine, m measured) { e.Memory.Time = m.seconds() }},
	{marks: []string{"init engine"}, into: func(e *Engine, m measured) { e.InitEngine = m.seconds() }},
}

// loadFormats are the values of --load-format that a log may contain.
var loadFormats = []string{"auto", "pt", "safetensors", "npcache", "dummy", "tensorizer", "sharded_state", "gguf",
	"bitsandbytes", "mistral", "runai_streamer", "runai_streamer_sharded", "fastsafetensors"}
