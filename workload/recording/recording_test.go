package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// made returns the sessions of a made-up recording.
func made(t *testing.T, format string, o Options) []Session {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Rehearse(&b, format, 7, 3))
	path := filepath.Join(t.TempDir(), "made.jsonl")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	list, notes, err := Read(path, format, o)
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Len(t, list, 3)
	return list
}

// afters returns the calls for which each call waits.
func afters(s Session) (list [][]int) {
	for _, c := range s.Calls {
		list = append(list, c.After)
	}
	return list
}

// Both forms describe the same graph: a question, a tool, two subagents side by side, their join, a second question.
func TestGraph(t *testing.T) {
	want := [][]int{nil, {0}, {1}, {1}, {1, 2, 3}, {4}}
	for _, format := range []string{"otel", "weka"} {
		s := made(t, format, Options{})[1]
		require.Equal(t, "rehearsal-1", s.ID, format)
		require.Equal(t, want, afters(s), format)
		for i, c := range s.Calls {
			require.Equal(t, "recorded", c.Model)
			require.Positive(t, c.Output)
			require.InDelta(t, c.Delay.Seconds(), map[int]float64{1: 0.03}[i], 0.04, "%s call %d", format, i)
		}
	}
}

// A seed determines a made-up recording. Its sessions differ, and each is marked.
func TestRehearse(t *testing.T) {
	write := func(format string, seed uint64, sessions int) []string {
		var b bytes.Buffer
		require.NoError(t, Rehearse(&b, format, seed, sessions))
		lines := strings.Split(b.String(), "\n")
		require.Empty(t, lines[sessions])
		return lines[:sessions]
	}
	for _, format := range []string{"otel", "weka"} {
		five := write(format, 7, 5)
		require.Equal(t, five, write(format, 7, 5), "the same seed")
		require.Equal(t, five[:3], write(format, 7, 3))
		for i, other := range write(format, 8, 5) {
			require.NotEqual(t, five[i], other, "another seed")
			require.Contains(t, five[i], madeUp)
			require.Equal(t, 1, strings.Count(five[i], fmt.Sprintf(`id":"rehearsal-%d"`, i)))
		}
		require.ErrorIs(t, Rehearse(fullDisk{}, format, 7, 1), syscall.ENOSPC)
	}
	require.ErrorContains(t, Rehearse(&bytes.Buffer{}, "csv", 7, 1), "use otel or weka")

	// The messages of a session are numbered, so that they all differ.
	texts := map[string]bool{}
	for _, text := range regexp.MustCompile(`[a-z]+ \d+ of rehearsal-0: \d+`).FindAllString(write("otel", 7, 1)[0], -1) {
		texts[text] = true
	}
	numbers := map[string]bool{}
	for text := range texts {
		numbers[strings.Fields(text)[1]] = true
	}
	require.Len(t, numbers, len(texts))
	for n := range len(texts) {
		require.True(t, numbers[strconv.Itoa(n+1)], "message %d of %v", n+1, texts)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestHistoryOfOTel(t *testing.T) {
	calls := made(t, "otel", Options{})[0].Calls
	for _, c := range calls {
		for _, text := range []json.RawMessage{c.Messages, c.Own} {
			require.True(t, len(text) == 0 || json.Valid(text), "%s", text)
		}
	}
	require.Contains(t, string(calls[1].Messages), `"tool_call_id":"call-1"`)
	require.Zero(t, calls[1].Continues, "a recorded call of a tool cannot be replaced by the server's answer")
	require.Equal(t, 2, calls[4].Continues)
	require.Regexp(t, `^\[\{"role":"user","content":"user \d+ of rehearsal-0: \d+"\}\]$`, string(calls[4].Own))
	require.Equal(t, 5, calls[5].Continues)
}

func TestDelays(t *testing.T) {
	delays := func(o Options) (ms []int64) {
		for _, c := range made(t, "weka", o)[0].Calls {
			ms = append(ms, c.Delay.Milliseconds())
		}
		return ms
	}
	require.Equal(t, []int64{0, 20, 10, 10, 20, 20}, delays(Options{}))
	require.Equal(t, []int64{0, 15, 10, 10, 15, 15}, delays(Options{MaxWait: 15 * time.Millisecond}))
	require.Equal(t, []int64{10, 10, 10, 10, 10, 10}, delays(Options{ThinkTimeOnly: true}))
	require.Equal(t, make([]int64, 6), delays(Options{IgnoreDelays: true}))
	require.Equal(t, []int64{0, 10, 10, 10, 10, 10}, delays(Options{IdleGapCap: 30 * time.Millisecond}))
}

func TestBadRecordings(t *testing.T) {
	for _, c := range []struct{ format, text, err string }{
		{"otel", `{"spans": 3}`, "spans: expected a list"},
		{"otel", `{`, "session 1: unexpected EOF"},
		{"otel", `{"spans": []}`, "no session with calls"},
		{"otel", `{"spans":[{"name":"chat x","start_time":"now","attributes":{"gen_ai.input.messages":"[]"}}]}`,
			`start_time: expected a time such as 2026-01-02T03:04:05.678Z, not "now"`},
		{"otel", `{"spans":[{"name":"chat x","start_time":"2026-01-02T03:04:05Z","attributes":{"gen_ai.input.messages":` +
			`[{"role":"user","parts":[{"type":"video"}]}]}}]}`, `a part of type "video" cannot be sent`},
		{"otel", `{"spans":[{"name":"chat x","start_time":"2026-01-02T03:04:05Z","attributes":{"gen_ai.input.messages":` +
			`[{"role":"assistant","tool_calls":[{"name":"f"}]}]}}]}`, `the call of tool "f" has no id`},
		{"otel", `{"spans":[{"name":"chat x","start_time":"2026-01-02T03:04:05Z","end_time":"then","attributes":{` +
			`"gen_ai.input.messages":"[]"}}]}`,
			`end_time: expected a time such as 2026-01-02T03:04:05.678Z, not "then"`},
		{"weka", `{"id":"x"}`, "lacks requests"},
		{"weka", `{"requests":[{"type":"n"}]}`, "block_size"},
		{"weka", `{"block_size":4,"requests":[{"type":"q","t":1}]}`, `requests.0: type: expected n, s or subagent, not "q"`},
		{"weka", `{"block_size":4,"requests":[{"type":"n","t":1,"in":-3}]}`, "expected from 0 to 16777216 tokens, not -3 and 0"},
		{"weka", `{"block_size":4,"requests":[{"type":"n"}]}`, "t and api_time: expected seconds"},
		{"csv", `{}`, "use otel or weka"},
	} {
		path := filepath.Join(t.TempDir(), "x.json")
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		_, _, err := Read(path, c.format, Options{})
		require.ErrorContains(t, err, c.err)
	}
	_, _, err := Read(filepath.Join(t.TempDir(), "absent"), "otel", Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A folder has at most a given number of sessions, all in files of their own.
func TestFilesOfAFolder(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.json", "b.jsonl", "c.txt", "d.json/x"} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	files, err := filesOf(folder, 2)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(folder, "a.json"), filepath.Join(folder, "b.jsonl")}, files)
	_, err = filesOf(folder, 1)
	require.ErrorContains(t, err, "has more than 1 files")
	files, err = filesOf(filepath.Join(folder, "c.txt"), 0)
	require.NoError(t, err)
	require.Len(t, files, 1, "a file may have any name")
	_, err = filesOf(t.TempDir(), 1)
	require.ErrorContains(t, err, "has no .json and no .jsonl file")
}

// The tools of a call are read in every form, and rejected if they are not a list. Texts in parts are joined.
func TestToolsOfACall(t *testing.T) {
	read := func(definitions string) (json.RawMessage, error) {
		path := filepath.Join(t.TempDir(), "x.json")
		text := `{"session_id":"s","spans":[{"name":"chat x","start_time":"2026-01-02T03:04:05Z","attributes":{` +
			`"gen_ai.input.messages":[{"role":"user","content":"hi"}],"gen_ai.tool.definitions":` + definitions + `}}]}`
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		list, _, err := Read(path, "otel", Options{})
		if err != nil {
			return nil, err
		}
		return list[0].Calls[0].Tools, nil
	}
	const want = `[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}]`
	for _, definitions := range []string{want, `[{"name":"f","description":"d","parameters":{"type":"object"}}]`,
		`[{"name":"f","description":"d","input_schema":{"type":"object"}}]`,
		`"[{\"name\":\"f\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}]"`} {
		got, err := read(definitions)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), definitions)
	}
	for _, none := range []string{"null", "[]", `"[]"`} {
		got, err := read(none)
		require.NoError(t, err, none)
		require.Nil(t, got, none)
	}
	for _, bad := range []string{"3", `{"name":"f"}`, `["f"]`, `"f"`} {
		_, err := read(bad)
		require.ErrorContains(t, err, "gen_ai.tool.definitions: expected a list of functions", bad)
	}
	for value, text := range map[string]string{"": "", `"a"`: "a",
		`[{"text":"a"},{"content":"b"},{"text":"c","content":"d"}]`: "abcd",
		`[{}]`: "", `{"a": 1}`: `{"a":1}`, "7": "7", "[1]": "[1]"} {
		require.Equal(t, text, flat(json.RawMessage(value)), value)
	}
}

// A call continues another where the prompt and the answer of that one begin its own prompt; its own messages are those
// behind them. A call that adds nothing repeats its prompt.
func TestLinkedCalls(t *testing.T) {
	message := func(n int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)) }
	of := func(at float64, answer int, prompt ...int) talk {
		c := talk{rawCall: rawCall{start: at, end: at + 1, before: -1}, isPlain: true, answer: message(answer)}
		for _, n := range prompt {
			c.messages = append(c.messages, message(n))
		}
		return c
	}
	for name, c := range map[string]struct {
		talks     []talk
		before    int
		continues int
		own       string
	}{
		"one more":          {[]talk{of(0, 2, 1), of(1, 9, 1, 2, 3)}, 0, 1, `[{"n":3}]`},
		"two more":          {[]talk{of(0, 2, 1), of(1, 9, 1, 2, 3, 4)}, 0, 1, `[{"n":3},{"n":4}]`},
		"nothing more":      {[]talk{of(0, 2, 1), of(1, 9, 1, 2)}, 0, 0, ``},
		"at the same time":  {[]talk{of(0, 2, 1), of(0.5, 9, 1, 2, 3)}, -1, 0, ``},
		"another prompt":    {[]talk{of(0, 2, 1), of(1, 9, 7, 2, 3)}, 0, 0, ``},
		"another answer":    {[]talk{of(0, 2, 1), of(1, 9, 1, 7, 3)}, -1, 0, ``},
		"the second answer": {[]talk{of(0, 2, 1), of(1, 4, 1, 2, 3), of(2, 9, 1, 2, 3, 4, 5)}, 1, 2, `[{"n":5}]`},
		"two answers":       {[]talk{of(0, 2, 1), of(1, 4, 3), of(2, 9, 7, 4, 2)}, 1, 0, ``},
	} {
		link(c.talks)
		last := c.talks[len(c.talks)-1]
		require.Equal(t, c.before, last.before, name)
		require.Equal(t, c.continues, last.Continues, name)
		require.Equal(t, c.own, string(last.Own), name)
	}
	tool := []talk{of(0, 2, 1), of(1, 9, 1, 2, 3)}
	tool[0].isPlain = false
	link(tool)
	require.Zero(t, tool[1].Continues, "an answer with calls of tools")
	require.Equal(t, 0, tool[1].before)
}

// No call waits for longer than a year or the requested limit.
func TestLongestWait(t *testing.T) {
	const day = 24 * time.Hour
	path := filepath.Join(t.TempDir(), "x.json")
	text := `{"block_size":4,"requests":[{"t":0,"type":"n","in":5,"out":5},{"t":1e9,"type":"n","in":5,"out":5,` +
		`"hash_ids":[1,2]}]}`
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	for most, want := range map[time.Duration]time.Duration{0: 366 * day, 1: 1, time.Hour: time.Hour,
		999 * day: 366 * day} {
		list, _, err := Read(path, "weka", Options{MaxWait: most})
		require.NoError(t, err)
		require.Equal(t, want, list[0].Calls[1].Delay, most)
	}
}

// Calls of tools may name their arguments and results in several ways.
func TestToolsOfOTel(t *testing.T) {
	list, isUser, err := messagesOf(json.RawMessage(`[{"role":"developer","content":"s"},
		{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"a": 1}}]},
		{"role":"assistant","parts":[{"type":"tool_call","id":"2","name":"g","arguments":"{}"}]},
		{"role":"assistant","tool_calls":[{"id":"3","function":{"name":"h","arguments":"{\"b\":2}"}}]},
		{"role":"tool","tool_call_id":"3","parts":[{"type":"tool_result","content":"done"}]},
		{"role":"user","parts":[{"type":"text","content":"a"},{"type":"text","text":"b"}]}]`))
	require.NoError(t, err)
	require.True(t, isUser)
	for i, want := range []string{`{"role":"system","content":"s"}`, `"arguments":"{\"a\":1}"`, `"arguments":"{}"`,
		`"arguments":"{\"b\":2}"`, `"content":"done"`, `{"role":"user","content":"ab"}`} {
		require.Contains(t, string(list[i]), want)
	}
}

// Bounds of Weka's counts and times.
func TestBoundsOfWeka(t *testing.T) {
	for keys, ok := range map[string]bool{`"in":0,"out":0`: true, `"in":16777216,"out":16777216`: true, `"in":16777217`: false,
		`"out":16777217`: false, `"out":-1`: false, `"api_time":0`: true, `"api_time":-1`: false,
		`"t":-1`: true} {
		path := filepath.Join(t.TempDir(), "x.json")
		text := `{"block_size":4,"requests":[{"t":1,"type":"n","in":5,"out":5,` + keys + `}]}`
		for _, key := range []string{`"in":5,`, `"out":5,`, `"t":1,`} {
			if strings.Contains(keys, key[:strings.IndexByte(key, ':')+1]) {
				text = strings.Replace(text, key, "", 1)
			}
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, _, err := Read(path, "weka", Options{})
		require.Equal(t, ok, err == nil, "%s: %v", keys, err)
	}
}

// A folder's files are sessions. Links are not followed, and bad files are skipped if that is allowed.
func TestFolder(t *testing.T) {
	folder := t.TempDir()
	var b bytes.Buffer
	require.NoError(t, Rehearse(&b, "weka", 7, 2))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("b.jsonl", b.String())
	write("a.json", `{"id":"bad"}`)
	write("notes.txt", "no trace")
	require.NoError(t, os.Symlink(filepath.Join(folder, "b.jsonl"), filepath.Join(folder, "c.jsonl")))
	_, _, err := Read(folder, "weka", Options{})
	require.ErrorContains(t, err, "lacks requests")
	list, notes, err := Read(folder, "weka", Options{SkipInvalid: true})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Len(t, notes, 1)
	list, _, err = Read(folder, "weka", Options{SkipInvalid: true, Sessions: 1})
	require.NoError(t, err)
	require.Len(t, list, 1)
}

// FuzzRead passes foreign bytes to both readers. An accepted recording is a graph without cycles.
func FuzzRead(f *testing.F) {
	for _, format := range []string{"otel", "weka"} {
		var b bytes.Buffer
		require.NoError(f, Rehearse(&b, format, 7, 1))
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, parse := range formats {
			s, err := parse(text, &Options{KeepErrors: true, BlockTokens: 8})
			if err != nil {
				continue
			}
			for i, c := range s.session(&Options{}).Calls {
				require.GreaterOrEqual(t, c.Delay, time.Duration(0))
				require.LessOrEqual(t, c.Continues, i)
				for n, k := range c.After {
					require.True(t, k >= 0 && k < i && (n == 0 || k > c.After[n-1]))
				}
			}
		}
	})
}
