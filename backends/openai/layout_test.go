package openai

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

const (
	wholeCompletion = `{"id":"cmpl-1","object":"text_completion","created":17,"model":"m","choices":[{"index":0,"text":"one two","logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":[1,22,333]}],"service_tier":null,"usage":{"prompt_tokens":20,"total_tokens":23,"completion_tokens":3,"prompt_tokens_details":null}}`
	wholeChat       = `{"id":"chat-1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"one two","reasoning":null,"tool_calls":[]},"finish_reason":"stop"}],"usage":{"completion_tokens":3,"prompt_tokens":20}}`
)

// sameWalk requires that a walker reads a document as a new one without a layout does, and reports whether the learned
// layout read it.
func sameWalk(t *testing.T, w *walker, doc string) (learned bool) {
	t.Helper()
	alone := newWalker(w.KeepText)
	var e, want reader.Event
	e.IDs, e.Text = append(e.IDs, 7), append(e.Text, 'x') // of an earlier document
	learned = w.layout.read(w, []byte(doc), &reader.Event{})
	sure := alone.walk([]byte(doc), &want)
	require.Equal(t, sure, w.walk([]byte(doc), &e), doc)
	if sure {
		require.True(t, equal(&e, &want), "%s\n%+v\n%+v", doc, e, want)
		require.Equal(t, want.Finish == nil, e.Finish == nil)
	}
	require.True(t, sure || !learned, doc)
	return learned
}

// TestLayout changes one thing of an answer whose layout is learned.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		from, to string
		learned  bool
	}{
		{"", "", true},
		{`-1"`, `-2222"`, true}, {`-1"`, `-\u0031"`, false}, {`"id":`, `"id": `, false},
		{`one two`, ``, true}, {`one two`, `\"\u00e9]}`, true}, {`one two`, `"`, false}, {`"one two"`, `null`, true},
		{`one two`, "\xff", true}, {`one two`, "a\nb", false}, {`"one two"`, `5`, false},
		{`"model":"m"`, `"model":"n"`, false}, {`"index":0`, `"index":1`, false},
		{`"length"`, `"stop"`, true}, {`"stop"`, `"abort"`, true}, {`_reason":"`, `_reason":"\`, false},
		{`"length"`, `null`, true}, {`"stop"`, `null`, true}, {`[1,22,333]`, `[]`, true}, {`[1,22,333]`, `null`, true},
		{`22,`, `-5,`, true}, {`22,`, `22 , `, true}, {`22,`, `022,`, false}, {`22,`, `99999999999,`, true}, {`22,`, `2e1,`, false},
		{`[1,22,333]`, `[1,22,333],"x":1`, false}, {`"stop_reason":null`, `"stop_reason":2`, false},
		{`tokens":3`, `tokens":30`, true}, {`tokens":20`, `tokens":-1`, false}, {`tokens":20`, `tokens":null`, true},
		{`tokens":23`, `tokens":"x"`, true}, {`tokens":23`, `tokens":`, false}, {`"usage":{`, `"usage":{"y":1,`, false},
		{`}]`, `},{"index":1,"text":"b"}]`, false}, {`}}`, `},"error":{"message":"no"}}`, false}, {`}}`, `}`, false},
		{`}}`, `}}}`, false}, {`}}`, "}}\n", false}, {`"tool_calls":[]`, `"tool_calls":[{"id":"a"}]`, false},
		{`"reasoning":null`, `"reasoning":"why"`, false}, {`{`, ``, false},
	} {
		for _, doc := range []string{wholeCompletion, wholeChat} {
			changed := strings.Replace(doc, c.from, c.to, 1)
			if changed == doc && c.from != "" {
				continue
			}
			for _, keepText := range []bool{true, false} {
				w := newWalker(keepText)
				w.layout = &layout{}
				require.False(t, sameWalk(t, &w, doc))
				require.NotZero(t, w.layout.n, "it is learned")
				require.Equal(t, c.learned, sameWalk(t, &w, changed), "%v: %s", keepText, changed)
				sameWalk(t, &w, doc)
			}
		}
	}
}

// Answers that have no layout in common are soon read without one.
func TestNoLayout(t *testing.T) {
	w := newWalker(true)
	w.layout = &layout{}
	for i := range 2 * maxMissed {
		learned := sameWalk(t, &w, strings.Replace(wholeCompletion, `"model":"m"`, fmt.Sprintf(`"model":"%d"`, i), 1))
		require.False(t, learned)
	}
	require.Zero(t, w.layout.n)
	for _, doc := range []string{
		strings.Replace(wholeCompletion, `"m"`, `"`+strings.Repeat("m", maxLiteral)+`"`, 1),
		strings.Replace(wholeCompletion, `}}`, `},"more":"`+strings.Repeat("m", maxLiteral)+`"}`, 1),
		strings.Replace(wholeCompletion, `}}`, strings.Repeat(`,"total_tokens":5`, maxValues)+`}}`, 1),
	} {
		w.layout = &layout{}
		sameWalk(t, &w, doc)
		require.False(t, sameWalk(t, &w, doc))
	}
}

// FuzzLayout feeds three documents to one walker: what it learned from earlier ones must not change a later one.
func FuzzLayout(f *testing.F) {
	f.Add(wholeCompletion, strings.Replace(wholeCompletion, "one", "three", 1), wholeChat, true)
	f.Add(wholeChat, strings.Replace(wholeChat, "one", `\n`, 1), wholeCompletion, false)
	for i, doc := range documents {
		f.Add(doc, doc, documents[(i+1)%len(documents)], i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, first, second, third string, keepText bool) {
		w := newWalker(keepText)
		w.layout = &layout{}
		for _, doc := range []string{first, second, third, second} {
			sameWalk(t, &w, doc)
		}
	})
}

func TestLayoutAllocatesNothing(t *testing.T) {
	w := newWalker(true)
	w.layout = &layout{}
	var e reader.Event
	docs := [][]byte{[]byte(wholeCompletion), []byte(wholeCompletion), []byte(wholeChat)}
	for _, doc := range docs {
		w.walk(doc, &e)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, doc := range docs {
			w.walk(doc, &e)
		}
	}))
}

// TestEqualComparesAll changes each field of an event.
func TestEqualComparesAll(t *testing.T) {
	for i := range reflect.TypeFor[reader.Event]().NumField() {
		var a, b reader.Event
		switch v := reflect.ValueOf(&a).Elem().Field(i); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		default:
			v.SetInt(1)
		}
		require.False(t, equal(&a, &b), reflect.TypeFor[reader.Event]().Field(i).Name)
		require.True(t, equal(&a, &a))
	}
}
