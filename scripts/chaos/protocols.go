package main

// protocol is one way to talk to a server, and the information in its answers.
type protocol struct {
	Backend, API string
	Model        string // of the registry
	Prompt       string // columns of the data set: ids, text, or both
	Path         string
	wire         wire
	Ids          bool // whether answers carry token ids, as the model or the backend requests
	Echo         bool // whether the real server returns the request's id
	Counts       bool // whether the server's number of prompt tokens is compared with the sent ids
	Named        bool // whether answers name the model, streamed ones too
	Batches      bool
}

// protocols lists the routes of every backend, with prompts of ids and of text.
var protocols = []protocol{
	{Backend: "vllm", API: "completions", Model: idsModel, Prompt: "ids", Path: "/v1/completions", wire: completions,
		Ids: true, Echo: true, Counts: true, Named: true, Batches: true},
	{Backend: "vllm", API: "completions", Model: textModel, Prompt: "ids", Path: "/v1/completions", wire: completions,
		Ids: true, Echo: true, Counts: true, Named: true, Batches: true},
	{Backend: "vllm", API: "completions", Model: textModel, Prompt: "text", Path: "/v1/completions", wire: completions,
		Ids: true, Echo: true, Named: true},
	{Backend: "vllm", API: "chat", Model: textModel, Prompt: "text", Path: "/v1/chat/completions", wire: chat, Ids: true,
		Echo: true, Named: true},
	{Backend: "vllm", API: "chat", Model: textModel, Prompt: "both", Path: "/v1/chat/completions", wire: chat, Ids: true,
		Echo: true, Named: true},
	{Backend: "vllm", API: "chat", Model: idsModel, Prompt: "both", Path: "/v1/chat/completions", wire: chat, Ids: true,
		Echo: true, Named: true},
	{Backend: "vllm", API: "generate", Model: idsModel, Prompt: "ids", Path: "/inference/v1/generate", wire: generate,
		Ids: true, Echo: true, Counts: true},
	{Backend: "sglang", API: "generate", Model: idsModel, Prompt: "ids", Path: "/generate", wire: sglang, Ids: true,
		Echo: true, Counts: true, Batches: true},
	{Backend: "sglang", API: "generate", Model: textModel, Prompt: "text", Path: "/generate", wire: sglang, Ids: true,
		Echo: true},
	{Backend: "sglang", API: "completions", Model: textModel, Prompt: "text", Path: "/v1/completions", wire: completions,
		Echo: true, Named: true},
	{Backend: "sglang", API: "chat", Model: textModel, Prompt: "text", Path: "/v1/chat/completions", wire: chat,
		Echo: true, Named: true},
	{Backend: "llamacpp", API: "generate", Model: idsModel, Prompt: "ids", Path: "/completion", wire: llama, Ids: true,
		Counts: true, Named: true},
	{Backend: "llamacpp", API: "generate", Model: textModel, Prompt: "text", Path: "/completion", wire: llama, Ids: true,
		Named: true},
	{Backend: "llamacpp", API: "completions", Model: textModel, Prompt: "text", Path: "/v1/completions", wire: completions,
		Named: true},
	{Backend: "llamacpp", API: "chat", Model: textModel, Prompt: "text", Path: "/v1/chat/completions", wire: chat,
		Named: true},
	{Backend: "ollama", API: "generate", Model: textModel, Prompt: "text", Path: "/api/generate", wire: ollamaGenerate,
		Named: true},
	{Backend: "ollama", API: "chat", Model: textModel, Prompt: "text", Path: "/api/chat", wire: ollamaChat, Named: true},
	{Backend: "ollama", API: "completions", Model: textModel, Prompt: "text", Path: "/v1/completions", wire: completions,
		Named: true},
	{Backend: "trtllm", API: "completions", Model: idsModel, Prompt: "ids", Path: "/v1/completions", wire: completions,
		Ids: true, Counts: true, Named: true},
	{Backend: "openai", API: "completions", Model: idsModel, Prompt: "ids", Path: "/v1/completions", wire: completions,
		Ids: true, Counts: true, Named: true},
	{Backend: "openai", API: "chat", Model: textModel, Prompt: "text", Path: "/v1/chat/completions", wire: chat,
		Named: true},
}

// identified reports whether the server returns the ids of requests in this test, and the preflight detects that.
func (s *scenario) identified() bool { return s.Protocol.Echo && s.Echo && !s.NoPreflight }

// counted reports whether a count reveals the answer to a prompt of another length.
func (s *scenario) counted() bool { return s.Protocol.Counts && !s.NoUsage && s.Batch == 0 }

// has reports whether the route is one of OpenAI's.
func (p *protocol) openAI() bool {
	return p.wire.kind == "completions" || p.wire.kind == "chat" || p.wire.kind == "generate"
}
