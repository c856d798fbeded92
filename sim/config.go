package sim

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

// AnswerMode selects the answers of the simulated model.
type AnswerMode string

// The answer modes.
const (
	// the data set's reference output; a random answer to an unknown prompt
	AnswerReference AnswerMode = "reference"
	AnswerEcho      AnswerMode = "echo"   // the prompt's own ids
	AnswerRandom    AnswerMode = "random" // pseudo-random ids from seed and prompt
)

// Config holds the settings of a simulated server. DefaultConfig returns the defaults of the command line; New adds no
// defaults.
type Config struct {
	Dialect     string            // kind of server to play, one of Dialects
	Incremental bool              // SGLang's native streams carry new tokens only, and not everything so far
	Model       string            // served model name
	Adapters    []string          // further names that vLLM serves, as LoRA adapters
	Dataset     *datasets.Dataset // prompts and reference outputs; nil: none
	Row         *models.Row       // benchmark that defines the form of answers; nil: unchanged reference outputs
	Answers     AnswerMode
	Quality     float64   // share of right answers, from 0 to 1, in AnswerReference
	Tokenizer   Tokenizer // nil: datasets' synthetic vocabulary
	EOS         int32     // id that ends an answer
	Vocabulary  int       // prompts with ids at or above it are rejected
	Seed        uint64    // of answers and faults
	APIKey      string    // required as a bearer token on /v1; empty: none
	IdleTimeout time.Duration
	// ProfileLog is a file that gets a line of JSON with the rows of the requests of each profile; empty: the server has
	// no profiler.
	ProfileLog string

	TTFT time.Duration // from the end of the prefill to the first token
	TPOT time.Duration // between tokens of one sequence
	// TPOTPerSequence is what each further running sequence adds to TPOT. The times that SGLang and Ollama report in
	// answers are without it.
	TPOTPerSequence time.Duration
	PrefillRate     float64 // prompt tokens per second of the one prefill resource; 0: no prefill time
	MaxNumSeqs      int     // sequences running at once
	MaxModelLen     int     // prompt and output tokens of one sequence
	KVTokens        int     // KV budget in tokens; 0: MaxNumSeqs x MaxModelLen / 4, at least MaxModelLen
	// PrefixCache lets answers report how many tokens of the prompt are cached, in blocks of 16 tokens. These take no
	// prefill time.
	PrefixCache     bool
	TokensPerEvent  int // tokens in one streamed event; the first event always has one
	OutputTokens    int // length of a random answer, its EOS included
	ReasoningTokens int // tokens at the start of an answer on OpenAI's chat route that are reasoning

	Faults Faults
	// OnDie is called from a separate goroutine when the fault "die" occurs; nil: Serve resets every connection and
	// returns ErrDied.
	OnDie func()
	// OnStreamed is called with each stream that was sent whole, by the engine's goroutine, so it must not block; nil:
	// nothing is kept. Answers with several choices are left out.
	OnStreamed func(*Streamed)
}

// Streamed is when the simulator wrote the parts of an answer. Times are wall clock in ns since 1970.
type Streamed struct {
	ID        string    `json:"id"`         // of the request, as the client named it
	ArrivalNS int64     `json:"arrival_ns"` // when its first byte came, by the kernel's clock if it keeps that time
	Writes    []Written `json:"writes"`
}

// Written is a write with tokens.
type Written struct {
	AtNS   int64 `json:"at_ns"` // before the write
	Tokens int   `json:"tokens"`
}

// defaultModel is the served name of the default benchmark.
func defaultModel() string {
	m, err := models.Find(models.Default)
	if err != nil || len(m.Row.ServedModels) == 0 {
		return models.Default
	}
	return m.Row.ServedModels[0]
}

// DefaultConfig returns the defaults of `mlperf-go sim`: no prefill time, so that TTFT is the true time to first token,
// and limits (256 sequences, 131,072 tokens each) that only tests of the limits reach.
func DefaultConfig() Config {
	return Config{
		Dialect:        DefaultDialect,
		Model:          defaultModel(),
		Answers:        AnswerReference,
		Quality:        1,
		EOS:            128009,
		Vocabulary:     128256,
		IdleTimeout:    5 * time.Second, // as uvicorn, docs/reference/wire-protocols.md#connections
		TTFT:           5 * time.Millisecond,
		TPOT:           time.Millisecond,
		MaxNumSeqs:     256,
		MaxModelLen:    131072,
		TokensPerEvent: 1,
		OutputTokens:   64,
	}
}

func (c *Config) check() error {
	bad := func(name string, got any, want string) error {
		return fmt.Errorf("simulator settings: %s is %v; it must be %s", name, got, want)
	}
	switch {
	case c.Model == "":
		return bad("the model name", `""`, "the name that clients ask for")
	case c.Answers != AnswerReference && c.Answers != AnswerEcho && c.Answers != AnswerRandom:
		return bad("answers", fmt.Sprintf("%q", c.Answers), "reference, echo or random")
	case !(c.Quality >= 0 && c.Quality <= 1):
		return bad("quality", c.Quality, "between 0 (every answer wrong) and 1 (every answer right)")
	case c.Quality < 1 && (c.Dataset == nil || c.Answers != AnswerReference):
		return bad("quality", c.Quality, "1 without a data set and its reference answers: --dataset, and --answers reference")
	case c.TTFT < 0 || c.TTFT > 24*time.Hour:
		return bad("ttft", c.TTFT, "between 0 and 24h")
	case c.TPOT < 0 || c.TPOT > time.Hour:
		return bad("tpot", c.TPOT, "between 0 and 1h")
	case c.TPOTPerSequence < 0 || c.TPOTPerSequence > time.Second:
		return bad("tpot-per-sequence", c.TPOTPerSequence, "between 0 and 1s")
	case c.IdleTimeout <= 0:
		return bad("the idle timeout", c.IdleTimeout, "above 0")
	case math.IsNaN(c.PrefillRate) || math.IsInf(c.PrefillRate, 0) || c.PrefillRate < 0 || c.PrefillRate > 0 &&
		c.PrefillRate < 1:
		return bad("prefill-rate", c.PrefillRate, "0 (no prefill time) or at least 1 token per second")
	case c.MaxNumSeqs < 1:
		return bad("max-num-seqs", c.MaxNumSeqs, "1 or more")
	case c.MaxModelLen < 2 || c.MaxModelLen > 1<<24:
		return bad("max-model-len", c.MaxModelLen, "between 2 and 16777216")
	case c.KVTokens < 0 || c.KVTokens != 0 && c.KVTokens < c.MaxModelLen:
		return bad("the KV budget", c.KVTokens, "0 (chosen) or at least max-model-len, so that every sequence fits alone")
	case c.TokensPerEvent < 1:
		return bad("tokens-per-event", c.TokensPerEvent, "1 or more")
	case c.OutputTokens < 1 || c.OutputTokens > c.MaxModelLen:
		return bad("output-tokens", c.OutputTokens, "between 1 and max-model-len")
	case c.ReasoningTokens < 0:
		return bad("reasoning-tokens", c.ReasoningTokens, "0 or more")
	case c.Vocabulary < randomLow+randomSpan:
		return bad("the vocabulary", c.Vocabulary, fmt.Sprintf("at least %d", randomLow+randomSpan))
	case c.EOS < 0 || int(c.EOS) >= c.Vocabulary:
		return bad("the EOS id", c.EOS, "inside the vocabulary")
	}
	return c.Faults.check()
}

func (c *Config) kvTokens() int {
	if c.KVTokens > 0 {
		return c.KVTokens
	}
	return max(c.MaxNumSeqs*c.MaxModelLen/4, c.MaxModelLen)
}

// ErrDied is what Serve returns after the fault "die" when Config.OnDie is nil.
var ErrDied = errors.New("the simulated server died, as the fault \"die\" asked")
