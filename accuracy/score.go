package accuracy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Decoder converts token ids to text. It must be safe for concurrent use.
type Decoder interface {
	Decode(ids []int32, skipSpecial bool) string
}

// RemoteDecoder is a decoder that can fail, such as a server's. It must be safe for concurrent use.
type RemoteDecoder interface {
	Decode(ctx context.Context, ids []int32, skipSpecial bool) (string, error)
}

// DType is the integer type of the token ids in the accuracy log.
type DType string

// Types of the reference scripts' --dtype. Every reference SUT writes int32.
const (
	Int32   DType = "int32"
	Int64   DType = "int64"
	Float32 DType = "float"
)

// Input configures Score.
type Input struct {
	Benchmark  string                // name of a row of Benchmarks
	Round      string                // selects the targets; empty: the newest round with the benchmark
	Scenario   models.Scenario       // selects the targets
	Log        string                // path of mlperf_log_accuracy.json
	References []Reference           // one per sample of the data set, in LoadGen's order
	Decoder    Decoder               // nil if the log contains text or Remote decodes
	Remote     RemoteDecoder         // used if Decoder is nil
	Tokenizer  *finder.Source        // copied to the result; nil if unknown
	Punkt      *Punkt                // sentence parameters; nil if the scorer needs none
	DType      DType                 // type of the token ids in the log; empty: int32
	Code       CodeJudge             // runs model-written code elsewhere; nil: answers that are programs stay unscored
	Math       MathJudge             // compares expressions that need symbolic algebra; nil: the built-in comparison
	PerSample  bool                  // keep one score per sample in the result
	Rehearsal  bool                  // the data set is synthetic or only a part of the real one
	NotJudged  string                // why no target applies to the scores; empty: targets apply
	Workers    int                   // number of goroutines that score; 0: one per processor
	Progress   func(done, total int) // never called concurrently
}

// Kinds of programs.
const (
	LiveCodeBench      = "livecodebench"
	LiveCodeBenchQuick = "livecodebench-quick" // LiveCodeBench with gpt-oss's time limit for all tests of an answer
	MBXP               = "mbxp"
)

// CodeTask is one answer that is a program.
type CodeTask struct {
	Benchmark string // kind of program, one of the constants above
	Question  string // the question's id, or the row's id, which starts with its language
	Code      string
	Tests     string // test code, if the data set has it
}

// CodeJudge runs model-written code in isolation, outside this program, and reports whether it passed.
type CodeJudge interface {
	JudgeCode(ctx context.Context, task CodeTask) (passed bool, err error)
}

// Unjudged is the error of a judge that cannot decide about an answer, which then stays unscored.
type Unjudged struct{ Why string }

// Error returns the reason.
func (u *Unjudged) Error() string { return u.Why }

// MathJudge reports whether two normalized mathematical expressions are equal.
type MathJudge interface {
	Equal(ctx context.Context, given, truth string) (bool, error)
}

// Limits for one batch of work, so that memory stays small even if the answers are long.
const (
	batchEntries = 64
	batchBytes   = 1 << 20
)

// entry is one answer for a worker.
type entry struct {
	slot   int // index in the list of scores
	qsl    int
	data   []byte
	tokens int64 // number of tokens reported to LoadGen; -1: not reported
}

// Score reads an accuracy log and scores every answer like the benchmark's reference script.
func Score(ctx context.Context, in Input) (*Result, error) {
	b, err := findIn(in.Benchmark, in.Round)
	if err != nil {
		return nil, err
	}
	sc := scorers[b.Scorer]
	if err := sc.check(b, &in); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &pipeline{in: &in, sc: sc, vocabulary: b.row.Vocabulary, cancel: cancel, work: make(chan []entry)}
	p.run(ctx)
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("scoring %s as %s: %w", in.Log, b.Name, err)
	}
	return p.result(b), nil
}

// check returns an error if an input is missing.
func (sc *scorer) check(b *Benchmark, in *Input) error {
	switch {
	case len(in.References) == 0:
		return fmt.Errorf("scoring %s as %s: no references in the data set; name the benchmark's data set file", in.Log,
			b.Name)
	case sc.text != utf8Text && in.Decoder == nil && in.Remote == nil:
		return fmt.Errorf("scoring %s as %s: the log contains token ids but no tokenizer was given; name the "+
			"model's tokenizer.json", in.Log, b.Name)
	case sc.sentences && in.Punkt == nil:
		return fmt.Errorf("scoring %s as %s: no sentence parameters given; name the folder english of "+
			"NLTK's punkt_tab data", in.Log, b.Name)
	case !slices.Contains([]DType{"", Int32, Int64, Float32}, in.DType):
		return fmt.Errorf("scoring %s as %s: unknown token type %q; use int32, int64 or float", in.Log, b.Name, in.DType)
	}
	return nil
}

// pipeline consists of one reader and several workers.
type pipeline struct {
	in         *Input
	sc         *scorer
	vocabulary int // number of token ids of the model; 0: unknown
	cancel     context.CancelCauseFunc
	work       chan []entry

	entries, outside int
	truncated        bool
	unreadable       int // skipped lines of a damaged log

	mu           sync.Mutex
	scores       []SampleScore
	done         int
	foreign      int // answers with token ids outside of the vocabulary
	firstForeign foreignID
	miscounted   int // answers whose number of tokens differs from the one reported to LoadGen
}

func (p *pipeline) run(ctx context.Context) {
	workers := p.in.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			defer crash.Catch()
			score := p.sc.worker(p.in)
			for batch := range p.work {
				if err := p.score(ctx, score, batch); err != nil {
					p.cancel(err)
				}
			}
		})
	}
	if err := p.read(ctx); err != nil {
		p.cancel(err)
	}
	close(p.work)
	wg.Wait()
}

// read passes the log's entries to the workers in batches.
func (p *pipeline) read(ctx context.Context) error {
	seen := make([]bool, len(p.in.References))
	var batch []entry
	var size, slots int
	most := batchEntries
	if p.in.Code != nil {
		most = 1 // running one program may take longer than scoring a thousand other answers
	}
	send := func() error {
		select {
		case p.work <- batch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		batch, size = nil, 0
		return nil
	}
	err := p.readLog(func(e *mllog.AccuracyEntry) error {
		p.entries++
		if e.QSLIdx >= int64(len(seen)) {
			if p.sc.dropsOutside {
				p.outside++
				return nil
			}
			return fmt.Errorf("the log has an answer to sample %d, but the data set has only %s; it belongs to "+
				"another data set", e.QSLIdx, plural.Count(len(seen), "sample", "samples"))
		}
		if seen[e.QSLIdx] && !p.sc.repeats {
			return nil
		}
		seen[e.QSLIdx] = true
		tokens := int64(-1)
		if e.HasTokens {
			tokens = e.TokenCount
		}
		batch = append(batch, entry{slots, int(e.QSLIdx), slices.Clone(e.Data), tokens})
		slots++
		size += len(e.Data)
		if len(batch) == most || size >= batchBytes {
			return send()
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if len(batch) > 0 {
		return send()
	}
	if slots == 0 {
		return errors.New("no answers in the log; run the test in accuracy mode and name its mlperf_log_accuracy.json")
	}
	return nil
}

// readLog passes on the log's entries. If the log is not a complete array and the reference reads such logs line by
// line, so does readLog.
func (p *pipeline) readLog(visit func(*mllog.AccuracyEntry) error) error {
	if p.sc.damagedLogs {
		if _, err := mllog.ReadAccuracyFile(p.in.Log, func(*mllog.AccuracyEntry) error { return nil }); err != nil {
			_, p.unreadable, err = mllog.ReadAccuracyLines(p.in.Log, visit)
			return err
		}
	}
	log, err := mllog.ReadAccuracyFile(p.in.Log, visit)
	p.truncated = log.Truncated
	return err
}

// score scores a batch and stores the scores.
func (p *pipeline) score(ctx context.Context, score scoreFunc, batch []entry) error {
	out := make([]SampleScore, len(batch))
	for i, e := range batch {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		out[i] = SampleScore{Index: e.qsl, Subset: p.in.References[e.qsl].Subset, Empty: len(e.data) == 0,
			Scores: p.sc.blank()}
		s := sample{ref: &p.in.References[e.qsl]}
		if err := p.decode(ctx, &s, &e, &out[i]); err != nil {
			return fmt.Errorf("the answer to sample %d: %w", e.qsl, err)
		}
		if err := score(ctx, &s, &out[i]); err != nil {
			return fmt.Errorf("the answer to sample %d: %w", e.qsl, err)
		}
		out[i].credit = pyStrip(s.text) == "" && slices.ContainsFunc(out[i].Scores, func(v float64) bool { return v > 0 })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := batch[len(batch)-1].slot
	if last >= len(p.scores) {
		p.scores = append(p.scores, make([]SampleScore, last+1-len(p.scores))...)
	}
	for i, e := range batch {
		p.scores[e.slot] = out[i]
	}
	p.done += len(batch)
	if p.in.Progress != nil {
		p.in.Progress(p.done, max(len(p.in.References), p.done))
	}
	return nil
}

// decode converts the logged bytes to tokens and text.
func (p *pipeline) decode(ctx context.Context, s *sample, e *entry, out *SampleScore) error {
	if p.sc.text == utf8Text {
		s.text = string(e.data)
		return nil
	}
	ids, err := tokenIDs(e.data, p.in.DType)
	if err != nil {
		return err
	}
	out.Tokens = len(ids)
	p.look(ids, e)
	skipSpecial := p.sc.text == plainText
	if p.in.Decoder != nil {
		s.text = p.in.Decoder.Decode(ids, skipSpecial)
		return nil
	}
	s.text, err = p.in.Remote.Decode(ctx, ids, skipSpecial)
	return err
}

// look checks an answer's token ids, and counts answers with ids outside the vocabulary or a wrong number of tokens.
func (p *pipeline) look(ids []int32, e *entry) {
	id, foreign := foreignIn(ids, p.vocabulary)
	miscounted := e.tokens >= 0 && e.tokens != int64(len(ids))
	if !foreign && !miscounted {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if foreign {
		if p.foreign == 0 || e.slot < p.firstForeign.slot {
			p.firstForeign = foreignID{e.slot, e.qsl, id}
		}
		p.foreign++
	}
	if miscounted {
		p.miscounted++
	}
}

// tokenIDs decodes little-endian tokens.
func tokenIDs(data []byte, dtype DType) ([]int32, error) {
	size := 4
	if dtype == Int64 {
		size = 8
	}
	if len(data)%size != 0 {
		return nil, fmt.Errorf("its %d bytes are not a multiple of %d-byte tokens; the log was written with another token "+
			"type, so try --dtype", len(data), size)
	}
	ids := make([]int32, len(data)/size)
	for i := range ids {
		var v int64
		switch dtype {
		case Int64:
			v = int64(binary.LittleEndian.Uint64(data[i*8:]))
		case Float32:
			f := math.Float32frombits(binary.LittleEndian.Uint32(data[i*4:]))
			if f != f || f < math.MinInt32 || f > math.MaxInt32 {
				return nil, fmt.Errorf("its token %d is %v, which is not a token id; the log was written with another token type, "+
					"so try --dtype", i, f)
			}
			v = int64(f)
		default:
			v = int64(int32(binary.LittleEndian.Uint32(data[i*4:])))
		}
		if v < math.MinInt32 || v > math.MaxInt32 {
			return nil, fmt.Errorf("its token %d is %d, which is not a token id; the log was written with another token type, "+
				"so "+
				"try --dtype", i, v)
		}
		ids[i] = int32(v)
	}
	return ids, nil
}
