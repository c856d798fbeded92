package reader

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

var update = flag.Bool("update", false, "write testdata/answers.txt and parts.txt anew")

// setup is how answers are read.
type setup struct {
	backends.Config
	Options
	want      wire.Expected
	mayRepeat bool
	kind      string // Content-Type
	cut       backends.Reason
	failing   bool // the last event is of the type error
	bare      bool // the last event lacks its empty line
}

// setups are the ways in which each stream of testdata/streams.txt is read.
var setups = []struct {
	name string
	set  func(*setup)
}{
	{"usual", func(*setup) {}},
	{"text", func(s *setup) { s.KeepText = true }},
	{"ids needed", func(s *setup) { s.NeedIDs = true }},
	{"vocabulary of 100", func(s *setup) { s.Vocabulary = 100 }},
	{"at least 3", func(s *setup) { s.MinTokens = 3 }},
	{"at most 2", func(s *setup) { s.Sampling.MaxTokens = 2 }},
	{"at most 3", func(s *setup) { s.Sampling.MaxTokens = 3 }},
	{"tokenizer", func(s *setup) { s.CountText = func(b []byte) (int, error) { return len(b), nil } }},
	{"tokenizer, at most 2", func(s *setup) {
		s.CountText, s.Sampling.MaxTokens = func(b []byte) (int, error) { return len(b), nil }, 2
	}},
	{"empty tokenizer", func(s *setup) { s.CountText = func([]byte) (int, error) { return 0, nil } }},
	{"broken tokenizer", func(s *setup) { s.CountText = func([]byte) (int, error) { return 5, errors.New("broken") } }},
	{"id may come", func(s *setup) { s.want.ID = []byte("own") }},
	{"id must come", func(s *setup) { s.want.ID, s.want.Must = []byte("own"), true }},
	{"model m", func(s *setup) { s.want.Model = "m" }},
	{"learns the model", func(s *setup) { s.want.Learn = true }},
	{"may repeat", func(s *setup) { s.mayRepeat = true }},
	{"may repeat, text", func(s *setup) { s.mayRepeat, s.KeepText = true, true }},
	{"may repeat, vocabulary of 100", func(s *setup) { s.mayRepeat, s.Vocabulary = true, 100 }},
	{"cumulative", func(s *setup) { s.mayRepeat, s.want.StreamMode, s.KeepText = true, backends.StreamCumulative, true }},
	{"incremental", func(s *setup) {
		s.mayRepeat, s.want.StreamMode, s.KeepText = true, backends.StreamIncremental, true
	}},
	{"incremental ids", func(s *setup) {
		s.mayRepeat, s.want.StreamMode, s.KeepText = true, backends.StreamIncrementalIDs, true
	}},
	{"ends by count", func(s *setup) { s.EndsByCount = 3 }},
	{"no tokens", func(s *setup) { s.NoTokens = true }},
	{"holds back", func(s *setup) { s.MayHoldBack = true }},
	{"body", func(s *setup) { s.Stream, s.kind = false, "application/json" }},
	{"body, may repeat", func(s *setup) { s.Stream, s.kind, s.mayRepeat = false, "application/json", true }},
	{"page", func(s *setup) { s.Stream, s.kind = false, "text/html" }},
	{"lines", func(s *setup) { s.kind = "application/x-ndjson" }},
	{"error event", func(s *setup) { s.failing = true }},
	{"without the last empty line", func(s *setup) { s.bare = true }},
	{"cut", func(s *setup) { s.cut = backends.FailReset }},
	{"cut, tokenizer", func(s *setup) {
		s.cut, s.CountText = backends.FailReset, func(b []byte) (int, error) { return len(b), nil }
	}},
}

// streamOf returns the bytes of a stream in the framing of a setup.
func streamOf(s *setup, docs []string) []byte {
	if !s.Stream {
		return []byte(docs[0])
	}
	if s.kind == "application/x-ndjson" {
		return []byte(strings.Join(docs, "\n") + "\n")
	}
	if s.failing {
		docs[len(docs)-1] = "x\nevent: error"
	}
	stream := []byte("data: " + strings.Join(docs, "\n\ndata: ") + "\n\n")
	if s.bare {
		stream = bytes.TrimSuffix(stream, []byte("\n\n"))
	}
	return stream
}

// earlier is the stream of an answer with everything that one may have.
const earlier = `data: {"id":"x","model":"y","choices":[{"text":"a","aside":"b"}],"usage":{"produced":2}}

data: {"choices":[{"text":"ab","ids":[1,2,3],"finish":"abort","why":"c","tool_calls":[{}]}],
data: "usage":{"prompt":9,"produced":3}}

data: [DONE]

`

// readAnswer feeds a stream in pieces of a size, and returns what came of it in one line.
func readAnswer(s *setup, slow bool, stream []byte, size int) string {
	d := &walked{Scanner: NewScanner(&s.Config), mayRepeat: s.mayRepeat, slow: slow}
	s.Options.Decoder = d
	a := New(&s.Config, s.Options)
	a.Begin("text/event-stream") // an earlier answer, which leaves nothing
	a.Expect(wire.Expected{ID: []byte("x"), Must: true, Model: "y", Learn: true, StreamMode: backends.StreamCumulative})
	a.Feed([]byte(earlier))
	a.Finish(&backends.Outcome{}, backends.OK)
	a.Begin(s.kind)
	a.Expect(s.want)
	var counts []int
	for len(stream) > 0 {
		piece := stream[:min(size, len(stream))]
		stream = stream[len(piece):]
		for n := 1; n > 0; {
			if n, piece = a.Feed(piece); n > 0 {
				counts = append(counts, n)
			}
		}
	}
	settled, visible := a.Settled(), a.Visible()
	o := backends.Outcome{NTokens: 7, Tokens: []int32{8}, Text: []byte("old"), TokenSource: "old", Reason: "old"}
	detail := a.Finish(&o, s.cut)
	text := "-"
	if o.Text != nil {
		text = fmt.Sprintf("%q", o.Text)
	}
	states := flags([]string{" settled", " visible", " identified"}, settled, visible, o.Identified)
	return fmt.Sprintf("%s %s %v%s %d from %q, %v in %d+%d, usage %d, prompt %d, %q, %q%s",
		outcome(o.Reason), text, o.Tokens, states, o.NTokens, o.TokenSource,
		counts, o.Events, o.Merged, o.UsageTokens, o.InputTokens, o.FinishReason, o.StreamMode,
		also(": model ", o.Model)+also(": ", detail))
}

// outcome is a reason of a failure, or ok.
func outcome(r backends.Reason) string {
	if r == backends.OK {
		return "ok"
	}
	return string(r)
}

func also(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func flags(names []string, set ...bool) (text string) {
	for i, is := range set {
		if is {
			text += names[i]
		}
	}
	return text
}

// compareBlocks calls read for each block of a file of testdata: a title, and documents, one a line. It returns an
// answer for each setup, by name. The answers are compared with another file, which has the first one, the usual, and
// those of the others where they differ.
func compareBlocks(t *testing.T, from, with string, read func(title string, docs []string) (names, lines []string)) {
	recorded, err := os.ReadFile(from)
	require.NoError(t, err)
	var got bytes.Buffer
	for block := range strings.SplitSeq(strings.TrimSpace(string(recorded)), "\n\n") {
		title, rest, _ := strings.Cut(block, "\n")
		fmt.Fprintf(&got, "%s\n", title)
		names, lines := read(title, strings.Split(rest, "\n"))
		named := map[string][]string{} // setups by their line
		for i, line := range lines {
			named[line] = append(named[line], names[i])
		}
		for i, line := range lines {
			if slices.Index(lines, line) < i {
				continue
			}
			if i > 0 {
				fmt.Fprintf(&got, "  %s:\n", strings.Join(named[line], "; "))
			}
			fmt.Fprintf(&got, "    %s\n", line)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(with, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(with)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// newSetup returns the usual setup for a protocol's answers.
func newSetup() *setup {
	s := &setup{kind: "text/event-stream"}
	s.Stream = true
	s.Terms = Terms{Count: "produced", IDs: "ask for them", Needs: "ids nor produced", Parts: "choices"}
	return s
}

// Answers are the same walked and with encoding/json, whole and byte by byte.
func TestAnswers(t *testing.T) {
	read := func(title string, docs []string) (names, lines []string) {
		for _, one := range setups {
			s := newSetup()
			one.set(s)
			stream := streamOf(s, slices.Clone(docs))
			line := readAnswer(s, false, stream, len(stream)+1)
			require.Equal(t, line, readAnswer(s, true, stream, len(stream)+1), "%s, %s: with encoding/json", title, one.name)
			require.Equal(t, line, readAnswer(s, false, stream, 1), "%s, %s: byte by byte", title, one.name)
			names, lines = append(names, one.name), append(lines, line)
		}
		return names, lines
	}
	compareBlocks(t, "testdata/streams.txt", "testdata/answers.txt", read)
}

// batchSetups are the ways in which each batch of testdata/batches.txt is read.
var batchSetups = []struct {
	name string
	set  func(*setup)
}{
	{"usual", func(*setup) {}},
	{"text", func(s *setup) { s.KeepText = true }},
	{"vocabulary of 100", func(s *setup) { s.Vocabulary = 100 }},
	{"id may come", func(s *setup) { s.want.ID = []byte("own") }},
	{"id must come", func(s *setup) { s.want.ID, s.want.Must = []byte("own"), true }},
	{"model m", func(s *setup) { s.want.Model = "m" }},
	{"learns the model", func(s *setup) { s.want.Learn = true }},
	{"tokenizer", func(s *setup) { s.CountText = func(b []byte) (int, error) { return len(b), nil } }},
	{"may repeat, text", func(s *setup) { s.mayRepeat, s.KeepText = true, true }},
	{"incremental", func(s *setup) { s.mayRepeat, s.want.StreamMode = true, backends.StreamIncremental }},
	{"body", func(s *setup) { s.Stream, s.kind = false, "application/json" }},
	{"body, text", func(s *setup) { s.Stream, s.kind, s.KeepText = false, "application/json", true }},
	{"body, id must come", func(s *setup) {
		s.Stream, s.kind, s.want.ID, s.want.Must = false, "application/json", []byte("own"), true
	}},
	{"body, model m", func(s *setup) { s.Stream, s.kind, s.want.Model = false, "application/json", "m" }},
	{"without the last empty line", func(s *setup) { s.bare = true }},
	{"cut", func(s *setup) { s.cut = backends.FailReset }},
	{"body, cut", func(s *setup) { s.Stream, s.kind, s.cut = false, "application/json", backends.FailReset }},
}

// readBatch feeds the stream of a batch of two, twice to the same reader, and returns what came of it.
func readBatch(t *testing.T, s *setup, slow bool, stream []byte, size int) string {
	d := &walked{Scanner: NewScanner(&s.Config), mayRepeat: s.mayRepeat, slow: slow}
	s.Config.Batch = 2
	b := NewBatch(&s.Config, s.Options, d)
	var first string
	for {
		b.Begin(s.kind)
		b.Expect(s.want)
		line := feedBatch(b, stream, size)
		o := backends.Outcome{NTokens: 7, Parts: make([]backends.Part, 1), Reason: "old"}
		detail := b.Finish(&o, s.cut)
		line += fmt.Sprintf(" %s%s %d, usage %d, prompt %d%s", outcome(o.Reason),
			flags([]string{" identified"}, o.Identified), o.NTokens, o.UsageTokens, o.InputTokens,
			also(": model ", o.Model)+also(": ", detail))
		for _, p := range o.Parts {
			line += fmt.Sprintf("\n      %d: %s %q %v %d from %q, %q%s", p.Index, outcome(p.Reason), p.Text, p.Tokens, p.NTokens,
				p.TokenSource, p.FinishReason, also(": ", p.Detail))
		}
		if first != "" {
			require.Equal(t, first, line, "the second time")
			return line
		}
		first = line
	}
}

// feedBatch feeds a stream in pieces and returns the news.
func feedBatch(b *Batch, stream []byte, size int) string {
	var news [][]wire.News
	for len(stream) > 0 {
		piece := stream[:min(size, len(stream))]
		stream = stream[len(piece):]
		for n := 1; n > 0; {
			if n, piece = b.Feed(piece); n > 0 {
				news = append(news, slices.Clone(b.News()))
			}
		}
	}
	return fmt.Sprint(news) + flags([]string{" settled", " visible"}, b.Settled(), b.Visible())
}

func TestBatches(t *testing.T) {
	read := func(title string, docs []string) (names, lines []string) {
		for _, one := range batchSetups {
			s := newSetup()
			one.set(s)
			stream := streamOf(s, docs)
			line := readBatch(t, s, false, stream, len(stream)+1)
			require.Equal(t, line, readBatch(t, s, true, stream, len(stream)+1), "%s, %s: with encoding/json", title, one.name)
			require.Equal(t, line, readBatch(t, s, false, stream, 1), "%s, %s: byte by byte", title, one.name)
			names, lines = append(names, one.name), append(lines, line)
		}
		return names, lines
	}
	compareBlocks(t, "testdata/batches.txt", "testdata/parts.txt", read)
}
