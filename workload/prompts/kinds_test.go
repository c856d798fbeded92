package prompts

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/quote"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/recording"
)

// tokensOf counts with the simulator's vocabulary, of which texts without a tokenizer consist.
func tokensOf(text string) int { return len(datasets.SynthVocabulary().Encode(text)) }

func with(kind profile.DataKind, change func(*profile.Profile)) *profile.Profile {
	p := profile.Defaults()
	p.Name, p.Seed = "p", 7
	p.Data.Kind = kind
	p.Data.Input = &profile.Distribution{Kind: "normal", Mean: 50, StdDev: 20, Min: 1, Max: 200}
	p.Data.Output = &profile.Distribution{Kind: "uniform", Min: 5, Max: 9}
	if change != nil {
		change(p)
	}
	return p
}

func bucketed(p *profile.Profile) {
	p.Data.Prefix = 11
	p.Data.Buckets = []profile.Bucket{{Weight: 3, Count: 2, Tokens: 20}, {Weight: 1, Count: 5, Tokens: 40}}
}

func grouped(multi bool) func(*profile.Profile) {
	return func(p *profile.Profile) {
		p.Data.Input = nil
		p.Data.Groups = &profile.Groups{Count: 3, Users: 4, System: profile.FixedAt(30), MultiTurn: multi,
			Question: &profile.Distribution{Kind: "uniform", Min: 3, Max: 8}}
	}
}

func talking(p *profile.Profile) {
	p.Data.Turns = &profile.Turns{Conversations: 6, Count: &profile.Distribution{Kind: "uniform", Min: 2, Max: 5},
		SharedSystem: 13, System: profile.FixedAt(17), FirstInput: profile.FixedAt(21), ToolLatency: profile.FixedAt(2),
		MaxContext: 400}
}

// Requests depend only on profile, seed, session and call, whoever requests them and in whatever order.
func TestEveryKindDependsOnTheSeedAlone(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "t.jsonl")
	require.NoError(t, os.WriteFile(trace,
		[]byte("{\"seconds\":0,\"input\":30,\"output\":4}\n{\"seconds\":1,\"input\":9}\n"), 0o644))
	for name, p := range map[string]*profile.Profile{
		"synthetic":     with(profile.Synthetic, nil),
		"buckets":       with(profile.Synthetic, bucketed),
		"groups":        with(profile.SharedPrefix, grouped(false)),
		"conversations": with(profile.Conversations, talking),
		"multi-turn":    with(profile.SharedPrefix, grouped(true)),
		"images": with(profile.Synthetic, func(p *profile.Profile) {
			p.API.Kind = "chat"
			p.Data.Images = &profile.Images{Count: profile.FixedAt(1), Format: "png",
				Resolutions: []profile.Resolution{{Width: 8, Height: 8}}}
		}),
		"trace": with(profile.TraceLengths, func(p *profile.Profile) {
			p.Data.Trace = &profile.TraceFile{Path: trace, Format: "jsonl"}
		}),
	} {
		one := all(t, p, 40, 1)
		require.Equal(t, one, all(t, p, 40, 8), name)
		p.Seed++
		require.NotEqual(t, one, all(t, p, 40, 1), name)
	}
}

// Texts have exactly the number of tokens in the profile.
func TestLengthsAreExact(t *testing.T) {
	for _, change := range []func(*profile.Profile){nil, bucketed} {
		sum := 0
		for i, r := range all(t, with(profile.Synthetic, change), 300, 1) {
			require.Equal(t, r.Input, tokensOf(r.Text), "request %d", i)
			require.True(t, r.Output >= 5 && r.Output <= 9)
			sum += r.Input
		}
		require.Greater(t, sum, 300*40)
	}
	corpus := filepath.Join(t.TempDir(), "corpus.txt")
	require.NoError(t, os.WriteFile(corpus,
		[]byte("Some text, with commas; not a word of it is in the vocabulary. é ü\n"), 0o644))
	for _, r := range all(t, with(profile.Synthetic, func(p *profile.Profile) { p.Data.Corpus = corpus }), 100, 1) {
		require.Equal(t, r.Input, tokensOf(r.Text))
	}
}

func TestPrefixes(t *testing.T) {
	list := all(t, with(profile.Synthetic, bucketed), 400, 1)
	starts := map[int]string{}
	counts := map[bool]int{}
	for _, r := range list {
		size := 31
		if r.Group > 2 {
			size = 51
		}
		words := strings.SplitAfterN(strings.TrimPrefix(r.Text, " "), " ", size+1)
		start := strings.Join(words[:size], "")
		if starts[r.Group] == "" {
			starts[r.Group] = start
		}
		require.Equal(t, starts[r.Group], start, "requests of a group have one prefix")
		counts[r.Group <= 2]++
	}
	require.Len(t, starts, 7)
	require.InDelta(t, 300, counts[true], 40, "pools are chosen by weight")
	seen := map[string]bool{}
	for _, s := range starts {
		require.False(t, seen[s], "groups differ")
		seen[s] = true
	}
}

func TestSharedPrefix(t *testing.T) {
	p := with(profile.SharedPrefix, grouped(false))
	list := all(t, p, 24, 1)
	users := map[string]int{}
	systems := map[int]string{}
	for i, r := range list {
		require.Equal(t, r.Input, tokensOf(r.Text))
		users[r.Text]++
		require.Equal(t, list[(i+12)%24].Text, r.Text, "users repeat")
		words := strings.SplitAfterN(r.Text[1:], " ", 31)
		systems[r.Group] = strings.Join(words[:30], "")
	}
	require.Len(t, users, 12)
	require.Len(t, systems, 3)
	p.API.Kind = "chat"
	r := all(t, p, 1, 1)[0]
	require.Equal(t, 30, tokensOf(r.System))
	require.Equal(t, r.Input-30, tokensOf(r.Text))

	src, err := Open(with(profile.SharedPrefix, grouped(true)), Options{})
	require.NoError(t, err)
	require.Equal(t, 12, src.Conversations())
	calls, err := src.Calls(3)
	require.NoError(t, err)
	require.Equal(t, []int{4}, calls[5].After)
	var first, later Request
	require.NoError(t, src.Request(3, 0, &first))
	require.NoError(t, src.Request(3, 5, &later))
	require.Equal(t, 0, first.Continues)
	require.Equal(t, 5, later.Continues)
	require.Equal(t, first.Group, later.Group)
	require.Less(t, later.Input, 9, "a later turn has its question only")
}

func TestConversations(t *testing.T) {
	src, err := Open(with(profile.Conversations, talking), Options{})
	require.NoError(t, err)
	require.Equal(t, 6, src.Sessions())
	counts := map[int]bool{}
	for s := range 6 {
		calls, err := src.Calls(s)
		require.NoError(t, err)
		again, err := src.Calls(s + 6)
		require.NoError(t, err)
		require.Equal(t, calls, again, "a finished conversation starts again")
		counts[len(calls)] = true
		context := 0
		for i := range calls {
			var r Request
			require.NoError(t, src.Request(s, i, &r))
			require.Equal(t, r.Input, tokensOf(r.Text))
			require.Equal(t, i, r.Continues)
			if i == 0 {
				require.Equal(t, 13+17+21, r.Input)
			} else {
				require.Equal(t, 2*time.Second, calls[i].Delay)
			}
			context += r.Input + r.Output
		}
		require.LessOrEqual(t, context, 400)
	}
	require.Greater(t, len(counts), 1)
}

func TestImages(t *testing.T) {
	p := with(profile.Synthetic, func(p *profile.Profile) {
		p.API.Kind = "chat"
		p.Data.Images = &profile.Images{Count: profile.FixedAt(2), Format: "jpeg", At: 0.5,
			Resolutions: []profile.Resolution{{Width: 40, Height: 30}, {Width: 20, Height: 10, Weight: 3}}}
	})
	seen := map[string]bool{}
	for _, r := range all(t, p, 20, 1) {
		require.Empty(t, r.Text)
		var messages []struct {
			Role    string
			Content []part
		}
		require.NoError(t, json.Unmarshal(r.Messages, &messages))
		parts := messages[0].Content
		require.Len(t, parts, 4, "text, images, text")
		require.Equal(t, r.Input, tokensOf(parts[0].Text+parts[3].Text))
		for _, one := range parts[1:3] {
			data, found := strings.CutPrefix(one.Image.URL, "data:image/jpeg;base64,")
			require.True(t, found)
			file, err := base64.StdEncoding.DecodeString(data)
			require.NoError(t, err)
			decoded, _, err := image.DecodeConfig(bytes.NewReader(file))
			require.NoError(t, err)
			require.Contains(t, []string{"40x30", "20x10"}, fmt.Sprintf("%dx%d", decoded.Width, decoded.Height))
			require.False(t, seen[data], "every image is new")
			seen[data] = true
		}
	}
	p.Data.Images.Resolutions = nil
	_, err := Open(p, Options{})
	require.ErrorContains(t, err, "the list is empty")
	p.API.Kind = "completions"
	_, err = Open(p, Options{})
	require.ErrorContains(t, err, "only requests of api.kind chat, messages or responses carry images")
}

func TestTraceBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`
{"timestamp":0,"input_length":1100,"output_length":3,"hash_ids":[5,6,7]}
{"timestamp":5,"input_length":1200,"output_length":4,"hash_ids":[5,6,8]}
`), 0o644))
	p := with(profile.TraceLengths, func(p *profile.Profile) {
		p.Data.Input, p.Data.Output = nil, nil
		p.Data.Trace = &profile.TraceFile{Path: path, Format: "mooncake"}
	})
	list := all(t, p, 2, 1)
	require.Equal(t, 1100, tokensOf(list[0].Text))
	require.Equal(t, 1200, tokensOf(list[1].Text))
	require.Equal(t, []int{3, 4}, []int{list[0].Output, list[1].Output})
	a, b := strings.Fields(list[0].Text), strings.Fields(list[1].Text)
	require.Equal(t, a[:1024], b[:1024], "equal blocks are equal texts")
	require.NotEqual(t, a[1024:1100], b[1024:1100])
}

func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestFiles(t *testing.T) {
	for _, c := range []struct {
		kind         profile.DataKind
		format       profile.Format
		name, text   string
		want         []string
		answerTokens bool
	}{
		{profile.ShareGPT, "", "s.json", `[
			{"id":"x","conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Ho"}]},
			{"conversations":[]}, {"conversations":[{"from":"human","value":"B"},{"from":"gpt","value":"C"}]}]`,
			[]string{"Hi", "B"}, true},
		{profile.Prompts, "", "p.jsonl", `{"prompt":"a","answer":"b"}{"prompt":"c"}`, []string{"a", "c"}, false},
		{profile.Prompts, "csv", "p.csv", "id,Question,answer\n1,\"a, b\",x\n2,c,y\n", []string{"a, b", "c"}, true},
		{profile.Prompts, "", "p.txt", "one\n\ntwo\n", []string{"one", "two"}, false},
		{profile.Prompts, "cnn_dailymail", "c.json", `[{"article":"long","highlights":"short"}]`, []string{"long"}, true},
		{profile.Prompts, "json", "m.json",
			`[{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"v"}]}]`, []string{"u"}, true},
	} {
		p := with(c.kind, func(p *profile.Profile) {
			p.Data = profile.Data{Kind: c.kind, Format: c.format, Path: file(t, c.name, c.text)}
		})
		list := all(t, p, len(c.want), 1)
		for i, r := range list {
			require.Equal(t, c.want[i], r.Text, c.name)
			if c.answerTokens {
				require.Positive(t, r.Output, c.name)
			}
		}
		p.Data.Rows, p.Data.Output = 1, profile.FixedAt(33)
		require.Equal(t, 33, all(t, p, 2, 1)[1].Output, c.name)
	}
	p := with(profile.Prompts, func(p *profile.Profile) {
		p.Data = profile.Data{Kind: profile.Prompts, Format: "sonnet", Prefix: 40, Rows: 9, Input: profile.FixedAt(100),
			Output: profile.FixedAt(5), Path: file(t, "s.txt", strings.Repeat("A verse\nAnother line\nA third\n", 20))}
	})
	list := all(t, p, 9, 1)
	require.Len(t, strings.Split(list[0].Text, "\n"), 12)
	require.Equal(t, strings.Split(list[0].Text, "\n")[:5], strings.Split(list[1].Text, "\n")[:5])
}

// Sources that keep their texts know which of them need no escapes.
func TestPlainTexts(t *testing.T) {
	texts := []string{"a word", `a "word"`, "caf\u00e9", "plain again"}
	var rows []byte
	for _, text := range texts {
		row, err := json.Marshal(map[string]string{"prompt": text})
		require.NoError(t, err)
		rows = append(append(rows, row...), '\n')
		list := all(t, with(profile.Fixed, func(p *profile.Profile) { p.Data.Text = text }), 2, 1)
		require.Equal(t, []bool{quote.IsPlain(text), quote.IsPlain(text)}, []bool{list[0].Plain, list[1].Plain}, text)
	}
	for _, shuffle := range []bool{false, true} {
		plain := 0
		for _, r := range all(t, with(profile.Prompts, func(p *profile.Profile) {
			p.Data.Path, p.Data.Shuffle = file(t, "p.jsonl", string(rows)), shuffle
		}), 2*len(texts), 1) {
			require.Contains(t, texts, r.Text)
			require.Equal(t, quote.IsPlain(r.Text), r.Plain, r.Text)
			if r.Plain {
				plain++
			}
		}
		require.Equal(t, 4, plain)
	}
}

func TestBadFiles(t *testing.T) {
	for _, c := range []struct {
		format     profile.Format
		text, want string
	}{
		{"jsonl", "", "the file is empty"},
		{"jsonl", "{\"a\":1}\n", "has no prompts that fit; 1 rows were read"},
		{"jsonl", "{\"prompt\":\"a\"}\n{\"prompt\":", "row 2:"},
		{"json", "[1]", "row 1:"},
		{"json", "<html></html>", "x: found HTML or XML, expected JSON or JSON Lines; check where the file was"},
		{"csv", "a,b\n1,2\n", "no column is called prompt"},
		{"csv", "\n<html>prompt", "x: found HTML or XML, expected CSV; check where the file was downloaded from"},
		{"text", "<!DOCTYPE html>\n<p>404", "x: found HTML or XML, expected lines of text; check where"},
		{"sonnet", "\ufeff<html>\n", "x: found HTML or XML, expected lines of text; check where"},
		{"text", "\x1f\x8b\x08", "x: found gzip data, expected lines of text; unpack the file"},
		{"parquet", "", "dataset convert"},
		{"visionarena", "", "use data.images"},
		{"otel", "{}", "no reader for files of format otel"},
	} {
		p := with(profile.Prompts, func(p *profile.Profile) {
			p.Data = profile.Data{Kind: profile.Prompts, Format: c.format, Path: file(t, "x", c.text)}
		})
		_, err := Open(p, Options{})
		require.ErrorContains(t, err, c.want, string(c.format))
	}
	p := with(profile.ShareGPT, func(p *profile.Profile) { p.Data.Path = t.TempDir() + "/absent" })
	_, err := Open(p, Options{})
	require.ErrorContains(t, err, "mlperf-go dataset get")
	p.Data.Path = t.TempDir()
	_, err = Open(p, Options{})
	require.ErrorContains(t, err, "is a folder")
}

func FuzzFiles(f *testing.F) {
	for _, format := range []string{"jsonl", "csv", "text", "sonnet", "sharegpt", "billsum"} {
		f.Add(format, "{\"prompt\":\"a\"}\n", "prompt")
	}
	f.Add("csv", "prompt,answer\na,b\n", "answer")
	f.Fuzz(func(t *testing.T, format, text, column string) {
		p := with(profile.Prompts, func(p *profile.Profile) {
			p.Data = profile.Data{Kind: profile.Prompts, Format: profile.Format(format), Path: file(t, "x", text),
				SampleColumns: []string{column}}
		})
		src, err := Open(p, Options{})
		if err != nil {
			return
		}
		var r Request
		require.NoError(t, src.Request(0, 0, &r))
		require.NotEmpty(t, r.Text)
	})
}

// Recorded sessions: a call's own messages follow the server's answer, unless the profile selects the recorded ones.
func TestRecordedSessions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made.jsonl")
	open := func(format string, change func(*profile.SessionFiles)) Source {
		var b bytes.Buffer
		require.NoError(t, recording.Rehearse(&b, format, 7, 2))
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
		p := with(profile.Recorded, func(p *profile.Profile) {
			p.API.Kind, p.Data.Input, p.Data.Output = "chat", nil, nil
			p.Data.Path, p.Data.Format = path, profile.Format(format)
			p.Data.Sessions = &profile.SessionFiles{Count: 3, DefaultOutput: 9, Models: map[string]string{"recorded": "own"}}
		})
		change(p.Data.Sessions)
		src, err := Open(p, Options{})
		require.NoError(t, err)
		return src
	}
	get := func(src Source, session, call int) (r Request) {
		require.NoError(t, src.Request(session, call, &r))
		return r
	}
	src := open("otel", func(*profile.SessionFiles) {})
	require.Equal(t, 3, src.Sessions())
	calls, err := src.Calls(2)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, calls[4].After)
	r := get(src, 0, 4)
	require.Equal(t, 2, r.Continues)
	require.Equal(t, "own", r.Model)
	require.Equal(t, r, get(src, 2, 4), "the third session is the first one again")
	r = get(open("otel", func(s *profile.SessionFiles) { s.RecordedAnswer = true }), 0, 4)
	require.Zero(t, r.Continues)
	require.Contains(t, string(r.Messages), `"tool_call_id":"call-1"`)

	src = open("weka", func(s *profile.SessionFiles) { s.RandomSession = true })
	first, second := get(src, 0, 0), get(src, 0, 1)
	require.Equal(t, first.Input, tokensOf(first.Text))
	shared := strings.Join(strings.Fields(first.Text)[:48], " ")
	require.Equal(t, shared, strings.Join(strings.Fields(second.Text)[:48], " "), "three blocks of 16 tokens are equal")
	require.NotEqual(t, shared, strings.Join(strings.Fields(get(src, 1, 0).Text)[:48], " "))
	require.NotEqual(t, first.System, get(src, 2, 0).System, "a repeated session has an id of its own")
}

// A profile about a server's start names what reports it.
func TestAServersStartIsNotSent(t *testing.T) {
	p := profile.Defaults()
	p.Name, p.Data = "nop", profile.Data{Kind: profile.None}
	_, err := Open(p, Options{})
	require.ErrorContains(t, err, "profile nop measures a server's start and sends nothing")
	require.ErrorContains(t, err, "mlperf-go nop LOG")
}
