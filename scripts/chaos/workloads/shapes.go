package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"
)

// Shapes of a workload.
const (
	single        = "single"        // requests of their own
	conversations = "conversations" // synthetic, whose prompts contain the answers before
	sessions      = "sessions"      // recorded, replayed with the server's answers in their prompts
)

// sessionHeader contains the session of a request.
const sessionHeader = "X-Chaos-Session"

// drawShape draws what the requests of a test are, and how they are sent. The fields drawn before stay as they are.
func (s *scenario) drawShape(r *rand.Rand) {
	s.Shape = []string{single, single, conversations, sessions}[r.IntN(4)]
	s.API = []string{"completions", "chat"}[r.IntN(2)]
	s.TLS = r.IntN(3) == 0
	s.HTTP2 = s.TLS && r.IntN(2) == 0
	s.Population = 1 + r.IntN(20)
	switch s.Shape {
	case single:
		s.API = "completions" // prompts of token ids
	case sessions:
		s.API, s.Arrival = "chat", "sessions"
		s.Concurrency, s.Rate = 1+r.IntN(8), 0
		for s.Requests = 0; s.Requests < 60; s.Requests += s.Turns[len(s.Turns)-1] {
			s.Turns = append(s.Turns, 1+r.IntN(5))
		}
	}
}

// data returns the part of the profile about the requests. It writes recorded sessions to a file.
func (t *trial) data() (string, error) {
	switch t.Shape {
	case conversations:
		return fmt.Sprintf("{kind: conversations, input: %d, output: %d, turns: {conversations: %d, count: {kind: uniform, "+
			"min: 1, max: 5}, shared_system: 10}}", t.Input, t.Output, t.Population), nil
	case sessions:
		file := t.folder + "/sessions.jsonl"
		return fmt.Sprintf("{kind: recorded, format: otel, path: %s, sessions: {default_output: 5}}", file),
			os.WriteFile(file, t.recording(), 0o600)
	}
	return fmt.Sprintf("{kind: random, input: %d, output: %d}", t.Input, t.Output), nil
}

// recording returns sessions of agents in the form of OpenTelemetry. Each call continues the one before it.
func (t *trial) recording() []byte {
	type m = map[string]any
	var b strings.Builder
	out := json.NewEncoder(&b)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, turns := range t.Turns {
		var spans, prompt []m
		at := start
		for turn := range turns {
			prompt = append(prompt, m{"role": "user", "content": fmt.Sprintf("question %d of session %d", turn, i)})
			answer := m{"role": "assistant", "content": fmt.Sprintf("recorded answer %d of session %d", turn, i)}
			in, _ := json.Marshal(prompt) // texts are always encoded
			said, _ := json.Marshal([]m{answer})
			spans = append(spans, m{"name": "chat model", "span_id": fmt.Sprint(turn), "start_time": at.Format(time.RFC3339Nano),
				"end_time": at.Add(2 * time.Millisecond).Format(time.RFC3339Nano), "attributes": m{"gen_ai.operation.name": "chat",
					"gen_ai.request.model": "recorded", "gen_ai.input.messages": string(in), "gen_ai.output.messages": string(said),
					"gen_ai.usage.output_tokens": t.Output}})
			prompt, at = append(prompt, answer), at.Add(5*time.Millisecond)
		}
		_ = out.Encode(m{"session_id": fmt.Sprint(i), "spans": spans}) // into memory
	}
	return []byte(b.String())
}
