package reader

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/models"
)

// scanned are the readers of a Scanner by their name, for testdata/values.txt. Each returns what it read.
var scanned = []struct {
	name string
	read func(s *Scanner, e *Event) (string, bool)
}{
	{"text", func(s *Scanner, e *Event) (string, bool) { return "", s.Text(e, true) }},
	{"kept text", func(s *Scanner, e *Event) (string, bool) { s.KeepText = true; return "", s.Text(e, true) }},
	{"aside", func(s *Scanner, e *Event) (string, bool) { s.KeepText = true; return "", s.Text(e, false) }},
	{"plain text", func(s *Scanner, e *Event) (string, bool) { return "", s.PlainText(e) }},
	{"plain kept text", func(s *Scanner, e *Event) (string, bool) { s.KeepText = true; return "", s.PlainText(e) }},
	{"calls", func(s *Scanner, e *Event) (string, bool) { ok := s.Calls(e); return string(e.Calls), ok }},
	{"truth", func(s *Scanner, _ *Event) (string, bool) { b := true; ok := s.Bool(&b); return fmt.Sprint(b), ok }},
	{"word", func(s *Scanner, _ *Event) (string, bool) { w := []byte("old"); ok := s.Word(&w); return word(w), ok }},
	{"name", func(s *Scanner, _ *Event) (string, bool) { w := []byte("old"); ok := s.Name(&w); return word(w), ok }},
	{"id", func(s *Scanner, e *Event) (string, bool) { ok := s.ID(e); return word(e.ID), ok }},
	{"model", func(s *Scanner, e *Event) (string, bool) { ok := s.Model(e); return word(e.Model), ok }},
	{"finish", func(s *Scanner, e *Event) (string, bool) { ok := s.Finish(e); return word(e.Finish), ok }},
	{"prompt", func(s *Scanner, e *Event) (string, bool) { ok := s.Prompt(e); return fmt.Sprint(e.Prompt), ok }},
	{"produced", func(s *Scanner, e *Event) (string, bool) { ok := s.Produced(e); return fmt.Sprint(e.Produced), ok }},
	{"index", func(s *Scanner, e *Event) (string, bool) { ok := s.Index(e); return fmt.Sprint(e.Index), ok }},
	{"any", func(s *Scanner, e *Event) (string, bool) { return "", s.Pass(e) }},
	{"ids", func(s *Scanner, e *Event) (string, bool) { return "", s.IDs(e) }},
	{"numbers", func(s *Scanner, _ *Event) (string, bool) { return "", s.SkipNumbers() }},
	{"error", func(s *Scanner, e *Event) (string, bool) { return "", s.Error(e) }},
	{"errors", func(s *Scanner, e *Event) (string, bool) { return "", s.Errors(e) }},
	{"object", func(s *Scanner, e *Event) (string, bool) { return "", s.Object(e) }},
}

// word shows a word, and nil as none.
func word(w []byte) string {
	if w == nil {
		return "none"
	}
	return fmt.Sprintf("%q", w)
}

// shown are the fields of an event that differ from an empty one's.
func shown(e *Event) (text string) {
	if e.HasIDs {
		text += fmt.Sprintf(" ids %v", e.IDs)
	}
	if len(e.Text) > 0 {
		text += fmt.Sprintf(" text %q", e.Text)
	}
	if e.Message != nil {
		text += fmt.Sprintf(" message %s", e.Message)
	}
	return text + flags([]string{" bad id", " has text", " aside", " error"}, e.BadID, e.HasText, e.Aside, e.IsError)
}

// Every reader of values accepts a value up to its end and nothing behind it, or refuses it.
func TestValues(t *testing.T) {
	compareBlocks(t, "testdata/values.txt", "testdata/read.txt", func(_ string, docs []string) (names, lines []string) {
		for _, one := range scanned {
			var all []string
			for _, doc := range docs {
				if doc == "nothing" {
					doc = ""
				}
				s, e := &Scanner{}, &Event{}
				e.Reset()
				s.Start([]byte(doc))
				what, ok := one.read(s, e)
				if ok {
					all = append(all, strings.TrimSpace(doc[:s.I]+" => "+what+shown(e)))
				}
			}
			names, lines = append(names, one.name), append(lines, strings.Join(all, "\n    "))
		}
		return names, lines
	})
}

// members are the readers of an Object by their name.
var members = []struct {
	name string
	read func(o Object, e *Event) string
}{
	{"text", func(o Object, e *Event) string { o.Text("a", false, e); return "" }},
	{"kept text", func(o Object, e *Event) string { o.Text("a", true, e); return "" }},
	{"aside", func(o Object, e *Event) string { o.Aside("a", e); return "" }},
	{"ids", func(o Object, e *Event) string { o.IDs("a", e); return "" }},
	{"count", func(o Object, _ *Event) string { return fmt.Sprint(o.Count("a")) }},
	{"whole", func(o Object, _ *Event) string { return fmt.Sprint(o.Whole("a", 7)) }},
	{"truth", func(o Object, _ *Event) string { return fmt.Sprint(o.Bool("a")) }},
	{"name", func(o Object, _ *Event) string { return word(o.Name("a")) }},
	{"string", func(o Object, _ *Event) string { return word(o.String("a")) }},
	{"strings", func(o Object, _ *Event) string { return fmt.Sprintf("%q", o.Strings("a")) }},
	{"raw", func(o Object, _ *Event) string { return word(o.Raw("a")) }},
	{"object", func(o Object, _ *Event) string {
		inner := o.Object("a")
		return fmt.Sprint(inner.IsNull(), inner.Has("b", "c"), inner.Has("c"), inner.Count("b"))
	}},
	{"objects", func(o Object, _ *Event) (all string) {
		for _, inner := range o.Objects("a") {
			all += fmt.Sprint(inner.IsNull(), inner.Count("b"), " ")
		}
		return all
	}},
	{"is an object", func(o Object, _ *Event) string { return fmt.Sprint(o.IsObject("a")) }},
	{"error", func(o Object, e *Event) string { o.members["error"] = o.members["a"]; o.Error(e); return "" }},
	{"errors", func(o Object, e *Event) string { return shown(errorBody(e, "errors", o.Raw("a"))) }},
	{"detail", func(o Object, e *Event) string { return shown(errorBody(e, "detail", o.Raw("a"))) }},
	{"calls", func(o Object, e *Event) string {
		if raw, ok := o.members["a"]; ok {
			o.members["tool_calls"] = raw
		}
		o.Calls(e)
		return string(e.Calls)
	}},
}

// errorBody parses an object with one member.
func errorBody(e *Event, key string, raw []byte) *Event {
	if raw == nil {
		raw = []byte("null")
	}
	ParseObject(fmt.Appendf(nil, "{%q:%s}", key, raw), e, "choices")
	return e
}

// The readers of members by encoding/json take the same values, and whole numbers in other forms.
func TestMembers(t *testing.T) {
	compareBlocks(t, "testdata/values.txt", "testdata/members.txt", func(_ string, docs []string) (names, lines []string) {
		for _, one := range members {
			var all []string
			for _, doc := range docs {
				e := &Event{}
				whole := fmt.Sprintf(`{"a":%s}`, doc)
				if doc == "nothing" {
					whole = "{}"
				}
				o := ParseObject([]byte(whole), e)
				if o.Err() != nil {
					continue
				}
				if what := one.read(o, e); o.Err() == nil {
					all = append(all, strings.TrimSpace(doc+" => "+what+shown(e)))
				} else {
					failure, _, _ := strings.Cut(o.Err().Error(), ": ") // what follows is encoding/json's
					all = append(all, doc+": "+failure)
				}
			}
			names, lines = append(names, one.name), append(lines, strings.Join(all, "\n    "))
		}
		return names, lines
	})
}

// The first error of an object is kept, and no member is read behind it.
func TestFirstErrorOfAnObject(t *testing.T) {
	e := &Event{}
	o := ParseObject([]byte(`{"a":"x","b":5,"c":{"d":1}}`), e)
	require.EqualValues(t, -1, o.Count("a"))
	first := o.Err()
	require.Error(t, first)
	o.Fail("another")
	require.EqualValues(t, -1, o.Count("b"))
	require.EqualValues(t, -1, o.Object("c").Count("d"))
	require.Nil(t, o.String("b"))
	require.Same(t, first, o.Err())
}

// A key that follows at once is found without a search: with its comma, unless it is the first, and a value at once.
func TestExpectedKeys(t *testing.T) {
	for _, c := range []struct {
		doc      string
		first    bool
		expected bool
	}{
		{`,"a":1`, false, true}, {`"a":1`, true, true}, {`"a":1`, false, false}, {`,"a":1`, true, false}, {`,"b":1`, false, false},
		{`,"a": 1`, false, false}, {`,"a":`, false, false}, {`,"a"`, false, false}, {`,"a":!`, false, true},
	} {
		s := &Scanner{B: []byte(c.doc)}
		require.Equal(t, c.expected, s.expected(`,"a":`, c.first), "%q %v", c.doc, c.first)
		require.Equal(t, c.expected, s.I > 0, c.doc)
		if c.expected {
			require.Equal(t, len(c.doc)-1, s.I, c.doc)
		}
		if !c.first {
			s.I = 0
			require.Equal(t, c.expected || c.doc == `,"b":1`, s.nextKey(false) != nil, c.doc)
		}
		s.I = 0
		require.Nil(t, s.nextKey(true), c.doc)
		require.Zero(t, s.I)
	}
}

// The Content-Type decides the framing; without a telling one, the request does.
func TestFramingByContentType(t *testing.T) {
	for kind, want := range map[string]string{
		"":                                  "whole; events; lines",
		"text/plain":                        "whole plain; events; lines",
		" Text/Plain; charset=utf-8":        "whole plain; events; lines",
		"text/event-stream":                 "events; events; events",
		"TEXT/EVENT-STREAM ; charset=utf-8": "events; events; events",
		"application/x-ndjson":              "lines; lines; lines",
		"application/jsonl":                 "lines; lines; lines",
		"application/json":                  "whole; whole; lines",
		"application/problem+json":          "whole; whole; whole",
		"text/html":                         "whole plain; whole plain; whole plain",
	} {
		var got []string
		for i := range 3 {
			c := &backends.Config{}
			c.Stream = i > 0
			a := New(c, Options{Decoder: given{}, Lines: i > 1})
			a.Begin("image/png")
			a.Begin(kind)
			framing := "whole"
			if a.events {
				framing = "events"
			}
			if a.lines {
				require.True(t, a.events, kind)
				framing = "lines"
			}
			got = append(got, framing+flags([]string{" plain"}, a.plain))
		}
		require.Equal(t, want, strings.Join(got, "; "), kind)
	}
	a := New(&backends.Config{}, Options{Decoder: given{}, Lines: true})
	a.Begin("application/json")
	require.False(t, a.lines, "no stream was requested")
}

// The limit of a body depends on the requested tokens of all its prompts, and is never above that of a stream.
func TestLimitsOfAnswers(t *testing.T) {
	for _, c := range []struct {
		tokens, batch  int
		most           int64
		stream, ofBody int64
	}{
		{0, 0, 0, 256 << 20, 16 << 20}, {1000, 0, 0, 256 << 20, 16<<20 + 2000<<10},
		{1000, 1, -1, 256 << 20, 16<<20 + 2000<<10},
		{1000, 2, 1 << 40, 1 << 40, 16<<20 + 4000<<10}, {1000, 2, 1 << 10, 1 << 10, 1 << 10},
	} {
		config := &backends.Config{RequestOptions: backends.RequestOptions{Batch: c.batch,
			Sampling: models.Sampling{MaxTokens: c.tokens}}, AnswerOptions: backends.AnswerOptions{MaxAnswerBytes: c.most}}
		a := New(config, Options{Decoder: given{}})
		require.Equal(t, c.stream, a.maxBytes, c)
		require.Equal(t, c.ofBody, a.maxBody, c)
	}
}

// An answer of the largest size is read, and one byte more is too large, in each framing.
func TestAnswersAtTheLimit(t *testing.T) {
	for kind, text := range map[string]string{
		"application/json":     `{"choices":[{"ids":[7],"finish":"stop"}]}`,
		"text/event-stream":    "data: {\"choices\":[{\"ids\":[7]}]}\n\ndata: {\"choices\":[{\"ids\":[8]}]}\n\n",
		"application/x-ndjson": "{\"choices\":[{\"ids\":[7],\"finish\":\"stop\"}]}\n",
	} {
		for _, knows := range []bool{false, true} {
			for below := range int64(3) {
				config := &backends.Config{AnswerOptions: backends.AnswerOptions{MaxAnswerBytes: int64(len(text)) + below - 1}}
				var d Decoder = &walked{Scanner: NewScanner(config)}
				if knows {
					d = repeated{d.(*walked)}
				}
				a := New(config, Options{Decoder: d})
				a.Begin(kind)
				for rest, n := []byte(text), 1; n > 0; {
					n, rest = a.Feed(rest)
				}
				var o backends.Outcome
				a.Finish(&o, backends.OK)
				require.Equal(t, below == 0, o.Reason == backends.FailTooLarge, "%s %d: %s", kind, below, o.Reason)
			}
		}
	}
}

// Without Expect nothing is expected, whatever the previous answer had to be.
func TestBeginExpectsNothing(t *testing.T) {
	s := newSetup()
	s.want.StreamMode, s.want.Model, s.want.ID, s.want.Must = backends.StreamCumulative, "m", []byte("own"), true
	a := New(&s.Config, Options{Decoder: &walked{mayRepeat: true}})
	a.Expect(s.want)
	a.Begin(s.kind)
	rest := []byte("data: {\"model\":\"n\",\"choices\":[{\"ids\":[1]}],\"usage\":{\"produced\":1}}\n\n" +
		"data: {\"choices\":[{\"ids\":[2],\"finish\":\"stop\"}],\"usage\":{\"produced\":2}}\n\n")
	for n := 1; n > 0; {
		n, rest = a.Feed(rest)
	}
	require.Equal(t, []int32{1, 2}, a.Tokens())
	require.Nil(t, a.News())
	var o backends.Outcome
	require.Empty(t, a.Finish(&o, backends.OK))
	require.Equal(t, backends.OK, o.Reason)
	require.Equal(t, backends.StreamIncremental, o.StreamMode)
}

// listed reads an array of documents, one per prompt: walked if walks is set, else with encoding/json.
func listed(doc string, walks bool) (e Event, answers string, err error) {
	w := &walked{}
	add := func(e *Event) {
		answers += fmt.Sprint(" ", e.Index, " ", e.Prompt, " ", e.IDs, flags([]string{" error"}, e.IsError), ";")
	}
	list := List{
		Begin: func(e *Event) { e.Prompt = 5 },
		Members: func(e *Event) bool {
			_, ok := wireDocument.Walk(&w.Scanner, w, e)
			return ok
		},
	}
	if walks {
		if !list.Walk(&w.Scanner, []byte(doc), &e, add) {
			err = errors.New("given up")
		}
		return e, answers, err
	}
	read := func(o Object, e *Event) {
		w.members(o, e)
		e.Prompt = 5
	}
	err = DecodeList([]byte(doc), &e, []string{"choices"}, read, add)
	return e, answers, err
}

// A list of answers has the index of each from its position, and every element is an answer or an error. A walk
// leaves to encoding/json what that has to read.
func TestLists(t *testing.T) {
	for doc, want := range map[string]struct {
		walks         bool
		answers, fail string
	}{
		`[]`:    {true, "", ""},
		` [ ] `: {true, "", ""},
		`[{"choices":[{"ids":[1]}]},{"choices":[{"ids":[2]}]}]`:        {true, " 0 5 [1]; 1 5 [2];", ""},
		` [ { "choices":[{"ids":[1]}]} , {"choices":[{"ids":[2]}]} ] `: {true, " 0 5 [1]; 1 5 [2];", ""},
		`[{"error":"x"}]`: {true, " 0 5 [] error;", ""},
		`[{"choices":[{"ids":[1]}]},{"choices":[]}]`: {false, " 0 5 [1];", "an element of the list is not an answer"},
		`[{}]`: {false, "", "an element of the list is not an answer"},
		`[{"choices":[{"ids":[1.0]}]},{"choices":[{"ids":[2]}]}]`:         {false, " 0 5 [1]; 1 5 [2];", ""},
		`[{"choices":[{"ids":[1]}]},{"choices":[{"ids":["2"]}]},{"a":1}]`: {false, " 0 5 [1];", `"ids" has the wrong type`},
		`{"choices":[{"ids":[1]}]}`:                                       {false, "", "a list of answers was expected"},
		`{"error":"x"}`:                                                   {false, "", ""},
		`{"a":"x"}`:                                                       {false, "", "a list of answers was expected"},
		`5`:                                                               {false, "", "an object was expected"},
		`[{"choices":[{"ids":[1]}]}`:                                      {false, "", "unexpected end of JSON input"},
		`[{"choices":[{"ids":[1]}]}]]`:                                    {false, "", "invalid character ']' after top-level value"},
		`[{"choices":[{"ids":[1]}]}{"choices":[{"ids":[1]}]}]`: {false, "", "invalid character '{' after array element"},
		`[,{"choices":[{"ids":[1]}]}]`:                         {false, "", "invalid character ',' looking for beginning of value"},
		`[5]`:                                                  {false, "", "an object was expected"},
	} {
		_, answers, err := listed(doc, true)
		require.Equal(t, want.walks, err == nil, doc)
		if want.walks {
			require.Equal(t, want.answers, answers, doc)
		}
		e, answers, err := listed(doc, false)
		require.Equal(t, want.answers, answers, doc)
		if want.fail != "" {
			require.ErrorContains(t, err, want.fail, doc)
			continue
		}
		require.NoError(t, err, doc)
		require.Equal(t, doc == `{"error":"x"}`, e.IsError, doc)
	}
	for _, walks := range []bool{false, true} {
		e, _, err := listed(`[{"choices":[{"ids":[1]}]}]`, walks)
		require.NoError(t, err)
		require.Equal(t, []any{0, int64(-1), int64(-1), false}, []any{e.Choices, e.Prompt, e.Produced, e.HasIDs})
	}
}

func TestTextThatIsNotUTF8(t *testing.T) {
	for _, keep := range []bool{false, true} {
		s, e := &Scanner{KeepText: keep}, &Event{}
		s.Start([]byte("\"a\xff\""))
		require.True(t, s.Text(e, true))
		require.Equal(t, map[bool]string{true: "a\ufffd"}[keep], string(e.Text))
	}
	s, w := &Scanner{B: []byte("\"a\xff\"")}, []byte("old")
	require.False(t, s.Word(&w))
	text, ok := AppendDecoded([]byte("x"), []byte(`"a\q"`), []byte(`a\q`), true)
	require.False(t, ok)
	require.Equal(t, "x", string(text))
}
