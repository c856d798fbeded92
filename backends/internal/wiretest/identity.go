package wiretest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// Named is a request with an id, as a Naming server reads it.
type Named struct {
	ID     string
	Prompt int
	Stream bool
	Trace  string // its traceparent; empty: none
	Conn   int    // number of its connection, from 0
	Number int    // of the request on its connection, from 0
}

// Answer returns the right answer to the request: two tokens, the first of which identifies the prompt.
func (n *Named) Answer() string {
	event := func(id int, finish string) string {
		return fmt.Sprintf(`data: {"id":"cmpl-%s","object":"text_completion","model":"m","choices":[{"index":0,`+
			`"text":"w","finish_reason":%s,"token_ids":[%d]}]}`+"\n\n", n.ID, finish, id)
	}
	if !n.Stream {
		return Whole(200, "application/json", fmt.Sprintf(`{"id":"cmpl-%s","model":"m","choices":[{"index":0,"text":"w",`+
			`"finish_reason":"stop","token_ids":[%d,6]}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, n.ID,
			OwnToken(n.Prompt)))
	}
	return StreamHead + Chunked(event(OwnToken(n.Prompt), "null"), event(6, `"stop"`), Usage(2), Done)
}

// OwnToken returns the first token of the right answer to a prompt.
func OwnToken(prompt int) int { return 100 + prompt }

// Naming starts a server that answers each request with the bytes that reply returns, and returns a configuration for
// it. If secure is set it uses TLS, and the configuration skips the verification of its certificate. An empty answer
// closes the connection.
func Naming(t testing.TB, secure bool, reply func(*Named) string) *backends.Config {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "http://" + l.Addr().String()
	if secure {
		l, url = Secured(l), "https://"+l.Addr().String()
	}
	serve(t, l, func(c net.Conn, number int) { serveNamed(c, number, reply) })
	config := Config(url)
	config.InsecureSkipVerify = secure
	config.Endpoints[0].IDs = backends.IDsRequired
	return config
}

func serveNamed(c net.Conn, conn int, reply func(*Named) string) {
	in := bufio.NewReader(c)
	for number := 0; ; number++ {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var asked struct {
			Prompt []int
			Stream bool
			RID    string
		}
		if json.Unmarshal(body, &asked) != nil || len(asked.Prompt) == 0 {
			return
		}
		answer := reply(&Named{ID: r.Header.Get("X-Request-Id") + asked.RID, Prompt: asked.Prompt[0], Stream: asked.Stream,
			Trace: r.Header.Get("traceparent"), Conn: conn, Number: number})
		if _, err := io.WriteString(c, answer); err != nil || answer == "" {
			return
		}
	}
}

// Mixed returns replies of servers that mix up their answers. Each may be used in one test.
func Mixed() map[string]func(*Named) string {
	var mu sync.Mutex
	before := map[int]*Named{} // by connection
	late := func(n *Named) string {
		mu.Lock()
		defer mu.Unlock()
		last := before[n.Conn]
		if before[n.Conn] = n; last != nil {
			return last.Answer()
		}
		return n.Answer()
	}
	waiting := make(chan *Named, 1)
	swapped := make(chan *Named, 1)
	var odd bool
	return map[string]func(*Named) string{
		"twice": func(n *Named) string { return n.Answer() + n.Answer() },
		"twice, and closed": func(n *Named) string {
			if n.Number == 20 {
				return ""
			}
			return n.Answer() + n.Answer()
		},
		"late": late,
		"swapped": func(n *Named) string {
			mu.Lock()
			odd = !odd
			second := !odd
			mu.Unlock()
			if second {
				other := <-waiting
				swapped <- n
				return other.Answer()
			}
			waiting <- n
			return (<-swapped).Answer()
		},
	}
}

// answersBelong requires that an answer with the id of another request fails its sample.
func (k *Contract) answersBelong(t *testing.T) {
	const n = 40
	for name, reply := range Mixed() {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stream %t", name, stream), func(t *testing.T) {
				var mu sync.Mutex
				wrong := 0 // answers that belong to an earlier request, or to one of another connection
				config := Naming(t, k.Secure, func(asked *Named) string {
					answer := reply(asked)
					if name == "late" || name == "swapped" {
						mu.Lock()
						defer mu.Unlock()
						if answer != asked.Answer() {
							wrong++
						}
					}
					return answer
				})
				config.Stream, config.Concurrency = stream, 2
				config.Body = func(i int) []byte { return fmt.Appendf(nil, `{"prompt":[%d],"stream":%t}`, i, stream) }
				r := k.Ask(t, config, n)
				failed := r.requireOwn(t)
				if name == "late" || name == "swapped" {
					require.Equal(t, wrong, failed, "exactly the wrong ones fail")
					require.Positive(t, failed)
				}
			})
			if name == "late" {
				break // its state belongs to the connections of the first run
			}
		}
	}
}

// Unasked sends n queries and returns how many answers without a request the client has counted, and how often it has
// counted other unexpected bytes.
func (k *Contract) Unasked(t *testing.T, config *backends.Config, n int) (r *Recorder, answers, strays int64) {
	t.Helper()
	b := k.open(t, config)
	r = NewRecorder()
	require.NoError(t, b.Serve(context.Background(), NewQueries(n).End(), r))
	r.ExactlyOnce(t, n)
	counted := b.Features().Traffic()
	return r, counted.Unasked, counted.Strays
}

// strays requires that bytes behind an answer, in the same segment or later, are counted and not part of an answer.
func (k *Contract) strays(t *testing.T) {
	for name, c := range map[string]struct {
		surplus         string
		answers, strays bool
	}{
		"nothing":           {"", false, false},
		"an answer":         {Streamed, true, false},
		"half an answer":    {Streamed[:len(Streamed)/2], true, false},
		"a refusal":         {"HTTP/1.0 503 Service Unavailable\r\n\r\n", true, false},
		"a parting":         {"HTTP/1.1 408 Request Timeout\r\n\r\n", false, false},
		"an empty line":     {"\r\n", false, false},
		"a byte":            {"x", false, true},
		"the last chunk":    {"0\r\n\r\n", false, true},
		"an interim answer": {"HTTP/1.1 100 Continue\r\n\r\n", false, false},
	} {
		t.Run(name+", at once", func(t *testing.T) {
			t.Parallel()
			config := Config(k.Raw(t, Answers(Streamed+c.surplus)))
			config.Concurrency = 1
			r, answers, strays := k.Unasked(t, config, 6)
			require.Equal(t, []bool{c.answers, c.strays}, []bool{answers > 0, strays > 0})
			for _, res := range r.Results {
				require.Equal(t, backends.OK, res.Reason)
			}
		})
		if c.surplus == "" {
			continue
		}
		t.Run(name+", later", func(t *testing.T) {
			t.Parallel()
			source, r := NewQueries(1), NewRecorder()
			closed := make(chan struct{})
			config := Config(k.Raw(t, func(conn net.Conn, number, _ int) bool {
				if _, err := conn.Write([]byte(Streamed)); err != nil || number > 0 {
					return err == nil
				}
				for r.Completed() == 0 {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(20 * time.Millisecond) // net/http reads the end of an answer after completing it
				_, _ = conn.Write([]byte(c.surplus))
				_, _ = io.Copy(io.Discard, conn)
				close(closed)
				return false
			}))
			b := k.open(t, config)
			served := make(chan error, 1)
			go func() { served <- b.Serve(context.Background(), source, r) }()
			<-closed
			source.Issue(1).End()
			require.NoError(t, <-served)
			r.ExactlyOnce(t, 2)
			counted := b.Features().Traffic()
			require.Equal(t, []bool{c.answers, c.strays}, []bool{counted.Unasked > 0, counted.Strays > 0})
		})
	}
}

// requireOwn requires that each result is the answer to its own request or FailWrongAnswer, and counts the latter.
func (r *Recorder) requireOwn(t require.TestingT) (failed int) {
	for id, res := range r.Results {
		if res.Reason == backends.FailWrongAnswer {
			failed++
			continue
		}
		require.Equal(t, backends.OK, res.Reason, "query %d: %v", id, r.Attempts)
		require.Equal(t, []int32{int32(OwnToken(int(id) - 1)), 6}, res.Tokens, "query %d", id)
	}
	return failed
}

// idsAreCompared requires that the id and the model of every event are compared with the expected ones.
func (k *Contract) idsAreCompared(t *testing.T) {
	event := func(id, model, finish string, token int) string {
		return fmt.Sprintf(`data: {"id":%q,"model":%q,"choices":[{"index":0,"text":"w","finish_reason":%s,`+
			`"token_ids":[%d]}]}`+"\n\n", id, model, finish, token)
	}
	stream := func(events ...string) string { return StreamHead + Chunked(append(events, Usage(2), Done)...) }
	other := "00000000000000000000000000000000"
	for name, c := range map[string]struct {
		reply  func(id string) string
		want   backends.Reason
		detail string
	}{
		"its own": {func(id string) string {
			return stream(event("cmpl-"+id, "m", "null", 5), event("cmpl-"+id, "m", `"stop"`, 6))
		}, "", ""},
		"with a suffix": {func(id string) string {
			return stream(event(id+"_0", "m", "null", 5), event(id+"_0", "m", `"stop"`, 6))
		}, "", ""},
		"another's": {func(string) string {
			return stream(event("cmpl-"+other, "m", "null", 5), event("cmpl-"+other, "m", `"stop"`, 6))
		}, "wrong_answer", "belongs to another request"},
		"another's later": {func(id string) string {
			return stream(event("cmpl-"+id, "m", "null", 5), event("cmpl-"+other, "m", `"stop"`, 6))
		}, "wrong_answer", "belongs to another request"},
		"without": {func(string) string { return stream(event("", "m", "null", 5), event("", "m", `"stop"`, 6)) },
			"wrong_answer", "lacks the id"},
		"half without": {func(id string) string {
			return stream(event("cmpl-"+id, "m", "null", 5),
				event("", "m", `"stop"`, 6))
		}, "wrong_answer", "lacks the id"},
		"another model": {func(id string) string {
			return stream(event("cmpl-"+id, "n", "null", 5), event("cmpl-"+id, "n", `"stop"`, 6))
		}, "wrong_model", `from the model "n"`},
		"a model later": {func(id string) string {
			return stream(event("cmpl-"+id, "m", "null", 5), event("cmpl-"+id, "n", `"stop"`, 6))
		}, "wrong_model", `from the model "n"`},
		"no model": {func(id string) string {
			return stream(event("cmpl-"+id, "", "null", 5), event("cmpl-"+id, "", `"stop"`, 6))
		}, "", ""},
		"an error": {func(string) string { return stream(`data: {"error":{"message":"gone"}}` + "\n\n") },
			"server_error_event", "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			config := Naming(t, k.Secure, func(asked *Named) string { return c.reply(asked.ID) })
			config.Endpoints[0].Model = "m"
			r := k.Ask(t, config, 2)
			for id, res := range r.Results {
				require.Equal(t, c.want, res.Reason, "query %d: %v", id, r.Attempts)
			}
			if c.want != "" {
				require.Contains(t, r.Attempts[0].Detail, c.detail)
			}
		})
	}
}

// idsAreUnlike requires that no two attempts have the same id, and that all ids have the same length. With IDsOff no
// request has an id.
func (k *Contract) idsAreUnlike(t *testing.T) {
	for _, use := range []backends.IDUse{backends.IDsOff, backends.IDsTried, backends.IDsRequired} {
		var mu sync.Mutex
		seen := map[string]int{}
		config := Naming(t, k.Secure, func(asked *Named) string {
			mu.Lock()
			defer mu.Unlock()
			if seen[asked.ID]++; asked.Number > 0 {
				return "" // another attempt on a fresh connection follows
			}
			return asked.Answer()
		})
		config.Endpoints[0].IDs, config.Concurrency, config.Stream = use, 1, false
		for range 2 { // two clients, as of two processes
			r := k.Ask(t, config, 10)
			for id, res := range r.Results {
				require.Equal(t, backends.OK, res.Reason, "query %d: %v", id, r.Attempts)
				require.Equal(t, use != backends.IDsOff, res.Identified)
			}
		}
		if use == backends.IDsOff {
			require.Len(t, seen, 1)
			require.Contains(t, seen, "")
			continue
		}
		require.Greater(t, len(seen), 20, "repeated attempts included")
		for id, times := range seen {
			require.Equal(t, 1, times, id)
			require.Len(t, id, 32)
		}
	}
}

// traces requires that every attempt has a trace of its own that bears the request's id, if it has one, and a span that
// bears the sample's number; and that no request has one unless that was requested.
func (k *Contract) traces(t *testing.T) {
	form := regexp.MustCompile(`^00-([0-9a-f]{32})-8([0-9a-f]{15})-01$`)
	for _, use := range []backends.IDUse{backends.IDsOff, backends.IDsRequired} {
		for _, traced := range []bool{false, true} {
			var mu sync.Mutex
			seen := map[string]bool{}
			config := Naming(t, k.Secure, func(asked *Named) string {
				mu.Lock()
				defer mu.Unlock()
				if !traced {
					require.Empty(t, asked.Trace)
					return asked.Answer()
				}
				found := form.FindStringSubmatch(asked.Trace)
				require.NotNil(t, found, asked.Trace)
				require.False(t, seen[found[1]], "two attempts have one trace")
				seen[found[1]] = true
				if use == backends.IDsRequired {
					require.Equal(t, asked.ID, found[1])
				}
				require.Equal(t, fmt.Sprintf("%015x", asked.Prompt), found[2], "its prompt is the sample's number")
				if asked.Number == 2 {
					return "" // another attempt on a fresh connection follows
				}
				return asked.Answer()
			})
			config.Endpoints[0].IDs, config.Traced, config.Concurrency, config.Stream = use, traced, 2, false
			for id, res := range k.Ask(t, config, 20).Results {
				require.Equal(t, backends.OK, res.Reason, "query %d", id)
			}
			if traced {
				require.Greater(t, len(seen), 20, "repeated attempts included")
			}
		}
	}
}

// theFirstAnswerNamesTheModel requires that the first answer decides the model if it was unknown before.
func (k *Contract) theFirstAnswerNamesTheModel(t *testing.T) {
	var answered int
	var mu sync.Mutex
	config := Naming(t, k.Secure, func(asked *Named) string {
		mu.Lock()
		defer mu.Unlock()
		model := "m"
		if answered++; answered > 3 {
			model = "n"
		}
		return StreamHead + Chunked(fmt.Sprintf(`data: {"model":%q,"choices":[{"index":0,"text":"w",`+
			`"finish_reason":"stop","token_ids":[5,6]}]}`+"\n\n", model), Usage(2), Done)
	})
	config.Endpoints[0].IDs, config.Concurrency = backends.IDsOff, 1
	r := k.Ask(t, config, 8)
	for id, res := range r.Results {
		if id <= 3 {
			require.Equal(t, backends.OK, res.Reason, "query %d: %v", id, r.Attempts)
		} else {
			require.Equal(t, backends.FailWrongModel, res.Reason, "query %d", id)
		}
	}
}

// requestsNameOtherModels requires that the answers to requests for another model name the same model each time, and
// not that of all other requests.
func (k *Contract) requestsNameOtherModels(t *testing.T) {
	asked := func(index int) string { return []string{"", "a", "b"}[index%3] }
	for name, c := range map[string]struct {
		answer func(index int) string
		failed []int // indexes
		detail string
	}{
		"each its own":        {func(i int) string { return cmp.Or(asked(i), "m") }, nil, ""},
		"another word for it": {func(i int) string { return "org/" + asked(i) }, nil, ""},
		"the run's": {func(int) string { return "m" }, []int{1, 2, 4, 5, 7, 8},
			`named the model "a", and the answer is from "m": the server ignores the name`},
		"swapped later": {func(i int) string { return cmp.Or(asked(i%6+i/6), "m") }, []int{6, 7, 8}, "earlier answers"},
	} {
		t.Run(name, func(t *testing.T) {
			config := Naming(t, k.Secure, func(r *Named) string {
				return StreamHead + Chunked(fmt.Sprintf(`data: {"model":%q,"choices":[{"index":0,"text":"w",`+
					`"finish_reason":"stop","token_ids":[5,6]}]}`+"\n\n", c.answer(r.Prompt)), Usage(2), Done)
			})
			config.Endpoints[0].IDs, config.Concurrency, config.Model = backends.IDsOff, 1, asked
			r := k.Ask(t, config, 9)
			for id, res := range r.Results {
				want := backends.OK
				if slices.Contains(c.failed, int(id)-1) {
					want = backends.FailWrongModel
				}
				require.Equal(t, want, res.Reason, "request %d: %v", id-1, r.Attempts)
			}
			if c.failed != nil {
				require.Contains(t, r.Attempts[0].Detail, c.detail)
			}
		})
	}
}
