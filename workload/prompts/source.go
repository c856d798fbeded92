package prompts

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/tokenizer"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/trace"
)

// Source makes the requests of a workload. Sessions are numbered from 0. Any goroutine may call its methods.
type Source interface {
	// Sessions returns how many different sessions there are; session n+Sessions() equals session n. 0: no end.
	Sessions() int
	// Conversations returns how many sessions a population has in which users take turns; 0: each request is a session
	// of its own, with one call. A rate or a number of requests in flight counts requests, and they go to the
	// conversations in turn: a conversation that has ended is followed by the next session.
	Conversations() int
	// Calls returns the calls of a session in an order in which each one comes after those that it waits for.
	Calls(session int) ([]Call, error)
	// Request fills r with a call of a session. Its slices may be used again.
	Request(session, call int, r *Request) error
}

// Repeating is a Source whose sessions have one call each, and repeat each other after a number of rows.
type Repeating interface {
	Source
	// Rows returns the number of rows: the request of session n+Rows() equals that of session n in everything. 0: no
	// request is known to repeat another.
	Rows() int
}

// Call is a request of a session and what it waits for.
type Call struct {
	After []int         // calls whose answers must have come; nil: the session's start
	Delay time.Duration // from the last of those answers, or from the session's start
}

// Request is the content of one request. One of IDs, Text and Messages is set.
type Request struct {
	IDs       []int32         // prompt as token ids
	Text      string          // prompt; of a chat request the user's message
	Plain     bool            // Text is known to be plain (quote.IsPlain); false: unknown
	System    string          // system prompt of a chat request, if it is not in Messages
	Messages  json.RawMessage // of a chat request: a JSON array
	Tools     json.RawMessage // functions of a chat request: a JSON array
	Documents []string        // of a rerank request, whose query is Text

	Input  int    // tokens of the prompt, without the history; 0: unknown
	Output int    // limit of the answer in tokens; 0: the server's own
	Model  string // that the request names; empty: the run's
	// Members are further members of the JSON body, each behind a comma.
	Members string
	Group   int // of prompts with a common prefix, from 1; 0: none

	// Continues is 1 + the call whose prompt and answer come before this prompt; 0: none. The runner adds them.
	Continues int
	// Answer is the answer of this call that later calls contain; empty: the server's.
	Answer string

	dice *dice // for reuse; nil: none yet
}

// Reset empties r and keeps its memory.
func (r *Request) Reset() {
	*r = Request{IDs: r.IDs[:0], Messages: r.Messages[:0], Tools: r.Tools[:0], Documents: r.Documents[:0], dice: r.dice}
}

// Options contain what prompts depend on in addition to the profile.
type Options struct {
	Vocabulary int // number of token ids; 0: DefaultVocabulary
	Requests   int // that the run sends, as far as it is known; the default of Data.Rows
	// Tokenizer is the served model's. Without it, texts are made of the simulator's words, and lengths are exact for
	// the simulator only.
	Tokenizer *tokenizer.Tokenizer
	// ReadTrace reads Data.Trace; nil: trace.Read. The trace may be shared, and is not changed.
	ReadTrace func(*profile.TraceFile) (*trace.Trace, error)
}

// DefaultVocabulary is the smallest vocabulary of the models that servers of chats serve.
const DefaultVocabulary = 32000

// kinds makes the source of each kind of data.
var kinds = map[profile.DataKind]func(*profile.Profile, Options) (Source, error){
	profile.Fixed:         newFixed,
	profile.Random:        newRandom,
	profile.Synthetic:     newSynthetic,
	profile.SharedPrefix:  newSharedPrefix,
	profile.Conversations: newConversations,
	profile.ShareGPT:      newFile,
	profile.Prompts:       newFile,
	profile.TraceLengths:  newTrace,
	profile.Recorded:      newRecorded,
}

// Open returns the source of a profile.
func Open(p *profile.Profile, o Options) (Source, error) {
	if o.Vocabulary == 0 {
		o.Vocabulary = DefaultVocabulary
	}
	if p.Data.Kind == profile.None {
		return nil, fmt.Errorf("profile %s measures a server's start and sends nothing. Give the server's log to "+
			"`mlperf-go nop LOG`, or start one with `mlperf-go-kube nop`", p.Name)
	}
	open := kinds[p.Data.Kind]
	if open == nil {
		return nil, fmt.Errorf("profile %s: data.kind: this program cannot send data of kind %s", p.Name, p.Data.Kind)
	}
	src, err := open(p, o)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	if p.Data.Images != nil {
		return withImages(src, p)
	}
	return src, nil
}

// NeedsTokenizer reports whether a profile's lengths are exact only with the model's tokenizer.
func NeedsTokenizer(p *profile.Profile) bool {
	return p.Data.Kind != profile.Fixed && p.Data.Kind != profile.Random && p.Data.Kind != profile.None
}
