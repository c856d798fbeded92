package openai

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

var update = flag.Bool("update", false, "write testdata/requests.txt, routes.txt and events.txt anew")

// compare compares a text with a file of testdata.
func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile("testdata/"+name, got, 0o644))
	}
	want, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// drivers are those of every dialect.
var drivers = []*Driver{{name: "vllm", dialect: vllm}, {name: "openai", dialect: generic}, SGLang, LlamaCpp, Ollama,
	{name: "trtllm", dialect: trtllm}}

// apis are the names of routes; the last one does not exist.
var apis = []string{"", "completions", "chat", "generate", embeddings, rerank, messages, responses, "other"}

// Every route of every driver, or why it has none.
func TestRoutes(t *testing.T) {
	var got bytes.Buffer
	for _, d := range drivers {
		is := d.Describe()
		fmt.Fprintf(&got, "%s: server %q, owner %q, empties its cache %v\n", d.name, is.Server, is.Owner,
			is.EmptyCache != nil)
		for _, api := range apis {
			for _, batch := range []int{0, 2} {
				for _, text := range []bool{false, true} {
					c := &backends.Config{RequestOptions: backends.RequestOptions{API: api, Batch: batch},
						AnswerOptions: backends.AnswerOptions{KeepText: text}}
					p, err := d.Protocol(c)
					if err != nil {
						fmt.Fprintf(&got, "  %q %d %v: %v\n", api, batch, text, err)
						continue
					}
					fmt.Fprintf(&got, "  %q %d %v: %s, id in %+v, %T\n", api, batch, text, p.Path, p.RequestID,
						p.NewAnswer())
				}
			}
		}
	}
	compare(t, "routes.txt", got.Bytes())
}

// samples are what a data set may have for a request.
var samples = []datasets.Sample{
	{Index: 1},
	{Index: 2, InputIDs: []int32{5, 99}},
	{Index: 3, InputIDs: []int32{100}},
	{Index: 4, Input: "a \"b\""},
	{Index: 5, Input: "q", Documents: []string{"d", "e"}},
	{Index: 6, Messages: json.RawMessage(`[{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]`)},
	{Index: 7, Messages: json.RawMessage(`[{"role":"user","content":"u"}]`), MessageBytes: 31,
		Tools: json.RawMessage(`[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"x"}}}]`)},
	{Index: 8, Messages: json.RawMessage(`[{"role":"user","content":"u"}]`), ToolChoice: json.RawMessage(`"auto"`),
		Tools: json.RawMessage(`[{"function":{"name":"f"}},{"function":{"name":"g"}}]`)},
	{Index: 9, Messages: json.RawMessage(`{"role":"user"}`)},
	{Index: 10, Messages: json.RawMessage(`[`)},
	{Index: 11, Messages: json.RawMessage(`[{"role":"developer","content":[{"type":"text","text":"s"},` +
		`{"type":"text","text":"t"}]},` +
		`{"role":"system","content":"x"},{"role":"user","content":[{"type":"text","text":"u"},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,AAA="}},` +
		`{"type":"image_url","image_url":{"url":"http://h/i"}}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"v"}]}]`)},
	{Index: 12, Messages: json.RawMessage(`[{"role":"user","content":[{"type":"audio"}]}]`)},
	{Index: 13, Messages: json.RawMessage(`[{"role":"user","content":5}]`)},
	{Index: 14, Messages: json.RawMessage(`[{"role":"tool","content":"x"}]`)},
	{Index: 15, Messages: json.RawMessage(`[{"role":"assistant","content":"x","tool_calls":[{}]}]`)},
	{Index: 16, Messages: json.RawMessage(`[{"role":"assistant","content":"x","tool_calls":[]}]`)},
	{Index: 17, Messages: json.RawMessage(`[{"role":"system","content":"x"}]`)},
	{Index: 18, Messages: json.RawMessage(`[{"role":"user","content":"u"}]`), Tools: json.RawMessage(`{}`)},
	{Index: 20, Messages: json.RawMessage(`[{"role":"user"}]`)},
	{Index: 19, Messages: json.RawMessage(` [{"role":"user","content":"u"}]`), MessageBytes: 5},
}

// requestsOf are changes of a configuration that has a model and a limit of 7 tokens.
var requestsOf = []struct {
	name string
	set  func(c *backends.Config)
}{
	{"usual", func(*backends.Config) {}},
	{"no model", func(c *backends.Config) { c.ServedModel = "" }},
	{"no limit", func(c *backends.Config) { c.Sampling.MaxTokens = 0 }},
	{"one token", func(c *backends.Config) { c.Sampling.MaxTokens = 1 }},
	{"stream", func(c *backends.Config) { c.Stream = true }},
	{"stream, no options", func(c *backends.Config) { c.Stream, c.Drop = true, []string{"stream_options"} }},
	{"ids", func(c *backends.Config) { c.NeedIDs = true }},
	{"ids, stream", func(c *backends.Config) { c.NeedIDs, c.Stream = true, true }},
	{"ids, dropped", func(c *backends.Config) { c.NeedIDs, c.Drop = true, []string{"return_token_ids"} }},
	{"ids in logprobs", func(c *backends.Config) { c.IDsInLogprobs = true }},
	{"text", func(c *backends.Config) { c.KeepText = true }},
	{"all sampling", func(c *backends.Config) { c.Sampling = sampled(5) }},
	{"all sampling, dropped", func(c *backends.Config) {
		c.Sampling, c.Drop = sampled(5), []string{"top_p", "top_k", "seed"}
	}},
	{"top_k 1", func(c *backends.Config) { c.Sampling.TopK = new(int); *c.Sampling.TopK = 1 }},
	{"top_k 0", func(c *backends.Config) { c.Sampling.TopK = new(int) }},
	{"top_k -1", func(c *backends.Config) { c.Sampling.TopK = new(int); *c.Sampling.TopK = -1 }},
	{"temperature NaN", func(c *backends.Config) { n := math.NaN(); c.Sampling.Temperature = &n }},
	{"top_p NaN", func(c *backends.Config) { n := math.NaN(); c.Sampling.TopP = &n }},
	{"JSON", func(c *backends.Config) { c.Format = &backends.Format{} }},
	{"JSON, 0.10", func(c *backends.Config) { c.Format, c.ServerVersion = &backends.Format{}, "0.10.2" }},
	{"JSON, 0.11", func(c *backends.Config) { c.Format, c.ServerVersion = &backends.Format{}, "0.11.0" }},
	{"schema", func(c *backends.Config) { c.Format = schema }},
	{"schema, 0.10", func(c *backends.Config) { c.Format, c.ServerVersion = schema, "0.10.9" }},
	{"schema, 0.11", func(c *backends.Config) { c.Format, c.ServerVersion = schema, "0.11" }},
	{"schema, 1.0", func(c *backends.Config) { c.Format, c.ServerVersion = schema, "1.0" }},
	{"schema, odd", func(c *backends.Config) { c.Format, c.ServerVersion = schema, "1" }},
}

var schema = &backends.Format{Schema: json.RawMessage(`{"type":"array"}`)}

func sampled(tokens int) models.Sampling {
	half, nine, top, seed := 0.5, 0.9, 40, int64(42)
	return models.Sampling{MaxTokens: tokens, MinTokens: 2, Temperature: &half, TopP: &nine, TopK: &top, Seed: &seed,
		StopTokenIDs: []int32{7, 8}, IgnoreEOS: true}
}

// TestRequests encodes every kind of sample in the usual configuration of each route, and one that fits it in every
// configuration. testdata/requests.txt has each request once, behind the first of its kind.
func TestRequests(t *testing.T) {
	var got bytes.Buffer
	seen := map[string]string{}
	add := func(name string, d *Driver, s *datasets.Sample, c *backends.Config) {
		body, err := d.Encode(nil, s, c)
		line := string(body)
		if err != nil {
			line = err.Error()
			line, _, _ = strings.Cut(line, ": invalid character") // what follows is encoding/json's
			line, _, _ = strings.Cut(line, ": json:")
		} else {
			require.True(t, json.Valid(body), "%s: %s", name, body)
		}
		if first := seen[line]; first != "" {
			line = "as " + first
		} else {
			seen[line] = name
		}
		fmt.Fprintf(&got, "%s: %s\n", name, line)
	}
	for _, d := range drivers {
		for _, api := range apis[1 : len(apis)-1] {
			if _, err := d.Protocol(&backends.Config{RequestOptions: backends.RequestOptions{API: api}}); err != nil {
				continue
			}
			config := func() *backends.Config {
				return &backends.Config{RequestOptions: backends.RequestOptions{API: api, ServedModel: "m",
					Sampling: models.Sampling{MaxTokens: 7}}, AnswerOptions: backends.AnswerOptions{Vocabulary: 100}}
			}
			for i := range samples {
				add(fmt.Sprintf("%s %s %d", d.name, api, samples[i].Index), d, &samples[i], config())
			}
			fitting := &samples[3]
			if api == "generate" || api == embeddings {
				fitting = &samples[1]
			}
			for _, one := range requestsOf {
				c := config()
				one.set(c)
				add(fmt.Sprintf("%s %s, %s", d.name, api, one.name), d, fitting, c)
			}
		}
	}
	compare(t, "requests.txt", got.Bytes())
}

// TestEvents reads the documents of testdata/documents.txt: each alone, and all of a block one after another, so that
// what one has taught the reader is applied to the next. They are the same with encoding/json.
func TestEvents(t *testing.T) {
	recorded, err := os.ReadFile("testdata/documents.txt")
	require.NoError(t, err)
	var got bytes.Buffer
	for block := range strings.SplitSeq(strings.TrimSpace(string(recorded)), "\n\n") {
		title, rest, _ := strings.Cut(block, "\n")
		fmt.Fprintln(&got, title)
		api, _, _ := strings.Cut(title, ":")
		docs := strings.Split(rest, "\n")
		usual := eventsOf(t, api, docs, false, false, false)
		text, ids := eventsOf(t, api, docs, true, false, false), eventsOf(t, api, docs, false, true, false)
		for n, line := range usual {
			fmt.Fprintf(&got, "  %s\n", line)
			if text[n] != line {
				fmt.Fprintf(&got, "    text: %s\n", text[n])
			}
			if ids[n] != line {
				fmt.Fprintf(&got, "    ids in log probabilities: %s\n", ids[n])
			}
		}
		require.Equal(t, usual, eventsOf(t, api, docs, false, false, true), "as whole answers")
		require.Equal(t, text, eventsOf(t, api, docs, true, false, true), "as whole answers")
	}
	compare(t, "events.txt", got.Bytes())
}

// eventsOf reads documents one after another, and requires that each alone is read as the same.
func eventsOf(t *testing.T, api string, docs []string, keep, logprobs, whole bool) (lines []string) {
	decoder := func() reader.Decoder {
		switch {
		case IsPooled(api):
			return pooled{part: map[string]string{embeddings: "data", rerank: "results"}[api]}
		case IsTyped(api):
			return typedAPIs[api].decoder(keep)
		}
		w := &walker{Scanner: reader.Scanner{KeepText: keep, IDsInLogprobs: logprobs}}
		if whole {
			w.layout = &layout{}
		}
		return w
	}
	d := decoder()
	for _, doc := range docs {
		line := eventOf(d, doc)
		if !IsTyped(api) {
			require.Equal(t, eventOf(decoder(), doc), line, "alone, layout %v: %s", whole, doc)
			var e reader.Event
			if w, ok := d.(*walker); ok {
				err := decodeSlow([]byte(doc), &reader.Scanner{KeepText: keep, IDsInLogprobs: logprobs}, &e, nil)
				require.Equal(t, event(&e, err), line, "with encoding/json: %s", doc)
				if n := w.Repeat([]byte("data: "+doc+"\n\n"), &e); n > 0 {
					require.Equal(t, len(doc)+8, n)
				}
			}
		}
		lines = append(lines, line)
		if w, ok := decoder().(*walker); ok {
			lines[len(lines)-1] += partsOf(t, w, doc)
		}
	}
	return lines
}

// partsOf returns the choices of a document that has several, as the answers of a batch. They are the same walked and
// with encoding/json, and the counts beside them are not theirs.
func partsOf(t *testing.T, w *walker, doc string) (text string) {
	var walked, slow []string
	var e reader.Event
	clear := func() { walked = nil }
	err := w.DecodeBatch([]byte(doc), &e, clear, func(e *reader.Event) { walked = append(walked, event(e, nil)) })
	whole := event(&e, err)
	s := &reader.Scanner{KeepText: w.KeepText, IDsInLogprobs: w.IDsInLogprobs}
	err = decodeSlow([]byte(doc), s, &e, func(e *reader.Event) { slow = append(slow, event(e, nil)) })
	if err == nil && !e.IsError {
		require.Equal(t, e.Produced, produced(whole), doc)
		require.Len(t, walked, len(slow), doc)
		for i := range slow { // a walk leaves the document's id and model in its parts
			if !strings.HasPrefix(slow[i], "error ") {
				require.Contains(t, slow[i], "prompt -1, produced -1")
			}
			require.Equal(t, withoutNames(slow[i]), withoutNames(walked[i]), doc)
		}
	}
	if len(slow) > 1 {
		text = "\n    parts: " + strings.Join(slow, "\n      ")
	}
	return text
}

// produced returns the count of tokens that an event shows.
func produced(shown string) (n int64) {
	_, text, _ := strings.Cut(shown, ", produced ")
	_, _ = fmt.Sscan(text, &n)
	return n
}

var ownNames = regexp.MustCompile(` (id|model) "[^"]*"|^\d+ choices, `)

func withoutNames(shown string) string { return ownNames.ReplaceAllString(shown, "") }

func eventOf(d reader.Decoder, doc string) string {
	var e reader.Event
	err := d.Decode([]byte(doc), &e)
	return event(&e, err)
}

// cachedOf shows the tokens of the prompt that came from a cache, if they are reported.
func cachedOf(e *reader.Event) string {
	if e.Cached < 0 {
		return ""
	}
	return fmt.Sprintf(", cached %d", e.Cached)
}

// event shows what was read.
func event(e *reader.Event, err error) string {
	if e.IsError {
		return fmt.Sprintf("error %s", e.Message)
	}
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), ": json:")
		return text
	}
	show := func(name string, b []byte) string {
		if b == nil {
			return ""
		}
		return fmt.Sprintf(" %s %q", name, b)
	}
	text := fmt.Sprintf("%d choices, index %d, ids %v %v %v", e.Choices, e.Index, e.IDs, e.HasIDs, e.BadID)
	if len(e.Text) > 0 {
		text += show("text", e.Text)
	}
	if len(e.ID) > 0 {
		text += show("id", e.ID)
	}
	if len(e.Model) > 0 {
		text += show("model", e.Model)
	}
	return text + fmt.Sprintf(" has text %v, aside %v, last %v, prompt %d, produced %d", e.HasText, e.Aside, e.Last,
		e.Prompt, e.Produced) + cachedOf(e) + show("calls", e.Calls) + show("finish", e.Finish)
}
