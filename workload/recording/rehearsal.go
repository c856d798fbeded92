package recording

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// Mark is in every session that Rehearse writes, and begins its id.
const Mark = "rehearsal"

// Rehearse writes made-up sessions in a recording's form, one a line. Each has six calls: a user's question, a tool,
// two subagents side by side, their join, and a second question.
func Rehearse(w io.Writer, format string, seed uint64, sessions int) error {
	write, ok := map[string]func(id string, r *rand.Rand) any{"otel": rehearsedOTel, "weka": rehearsedWeka}[format]
	if !ok {
		return fmt.Errorf("no recorded sessions of format %q can be made; use otel or weka", format)
	}
	out := json.NewEncoder(w)
	for i := range sessions {
		id := fmt.Sprintf("%s-%d", Mark, i)
		if err := out.Encode(write(id, rand.New(rand.NewPCG(seed, uint64(i))))); err != nil {
			return err
		}
	}
	return nil
}

// madeUp is the note in each session.
const madeUp = "made up by mlperf-go for a rehearsal; not a recording"

func rehearsedWeka(id string, r *rand.Rand) any {
	type m = map[string]any
	next := 0
	var blocks []int
	request := func(at float64, before []int, fresh int) m {
		list := append([]int{}, before...)
		for range fresh {
			next++
			list = append(list, next)
		}
		blocks = list
		return m{"t": at, "type": "s", "model": "recorded", "in": len(list)*16 + r.IntN(16), "out": 4 + r.IntN(8),
			"hash_ids": list, "api_time": 0.02, "think_time": 0.01}
	}
	first := request(0, nil, 3)
	second := request(0.04, blocks, 2)
	trunk := blocks
	agent := func(name string, at float64) m {
		return m{"t": at, "type": "subagent", "agent_id": name, "subagent_type": "search",
			"requests": []m{request(at, nil, 2)}}
	}
	left, right := agent("a", 0.07), agent("b", 0.07)
	join := request(0.11, trunk, 3)
	return m{"id": id, Mark: madeUp, "models": []string{"recorded"}, "block_size": 16,
		"requests": []m{first, second, left, right, join, request(0.15, blocks, 1)}}
}

func rehearsedOTel(id string, r *rand.Rand) any {
	type m = map[string]any
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) string { return start.Add(time.Duration(ms) * time.Millisecond).Format(time.RFC3339Nano) }
	n := 0
	say := func(role string) m {
		n++
		return m{"role": role, "content": fmt.Sprintf("%s %d of %s: %d", role, n, id, r.IntN(1000))}
	}
	span := func(ms int, prompt []m, answer m) m {
		in, _ := json.Marshal(prompt) // texts are always encoded
		out, _ := json.Marshal([]m{answer})
		return m{"name": "chat recorded", "span_id": fmt.Sprintf("%s-%d", id, ms), "start_time": at(ms),
			"end_time": at(ms + 20), "attributes": m{operation: "chat", model: "recorded", inMessages: string(in),
				outMessages: string(out), "gen_ai.usage.output_tokens": 4 + r.IntN(8)}}
	}
	with := func(before []m, more ...m) []m { return append(before[:len(before):len(before)], more...) }
	call := m{"role": "assistant", "tool_calls": []m{{"id": "call-1", "type": "function",
		"function": m{"name": "look_up", "arguments": `{"word":"llama"}`}}}}
	opening := []m{say("system"), say("user")}
	afterTool := with(opening, call, m{"role": "tool", "tool_call_id": "call-1", "content": "a camelid"})
	second := say("assistant")
	join := with(afterTool, second, say("user"))
	third := say("assistant")
	left, right := []m{say("system"), say("user")}, []m{say("system"), say("user")}
	return m{"session_id": id, Mark: madeUp, "spans": []m{
		span(0, opening, call), span(50, afterTool, second), span(80, left, say("assistant")),
		span(81, right, say("assistant")), span(120, join, third),
		span(170, with(join, third, say("user")), say("assistant"))}}
}
