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
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Decoder turns token ids into text. It must serve any number of goroutines.
type Decoder interface {
	Decode(ids []int32, skipSpecial bool) string
}

// RemoteDecoder is a decoder that may fail, such as a server's. It must serve any number of goroutines.
type RemoteDecoder interface {
	Decode(ctx context.Context, ids []int32, skipSpecial bool) (string, error)
}

// DType is the type of a token in the accuracy log.
type DType string

// Types of the reference scripts' --dtype. Every reference SUT writes int32.
const (
	Int32   DType = "int32"
	Int64   DType = "int64"
	Float32 DType = "float"
)

// Input is what a log is scored with.
type Input struct {
	Benchmark  string                // name of a row of Benchmarks
	Round      string                // selects the targets where rounds differ; empty: the newest that has the benchmark
	Scenario   models.Scenario       // selects the targets where scenarios differ
	Log        string                // path of mlperf_log_accuracy.json
	References []Reference           // one per sample of the data set, by LoadGen's index
	Decoder    Decoder               // nil where the log holds text, or Remote decodes
	Remote     RemoteDecoder         // asked where Decoder is nil
	Tokenizer  *finder.Source        // kept in the result; nil: not known
	Punkt      *Punkt                // sentence parameters; nil where the scorer splits none
	DType      DType                 // empty: int32
	Code       CodeJudge             // runs model-written code elsewhere; nil: such answers stay unscored
	Math       MathJudge             // decides what needs symbolic algebra; nil: the built-in stand-in
	PerSample  bool                  // keep one score per sample in the result
	Rehearsal  bool                  // a part of the data set is all that was to be scored
	Workers    int                   // 0: all cores
	Progress   func(done, total int) // called by one goroutine at a time
}

// Kinds of programs.
const (
	LiveCodeBench      = "livecodebench"
	LiveCodeBenchQuick = "livecodebench-quick" // with gpt-oss's limit on all tests of an answer
	MBXP               = "mbxp"
)

// CodeTask is one answer that is a program.
type CodeTask struct {
	Benchmark string // kind of program
	Question  string // the question's id, or the row's id with its language
	Code      string
	Tests     string // test code where the data set has it
}

// CodeJudge runs model-written code in a place made for that, outside this program, and tells whether it passed.
type CodeJudge interface {
	JudgeCode(ctx context.Context, task CodeTask) (passed bool, err error)
}

// Unjudged is what a judge returns for an answer that it can not decide; the answer stays unscored.
type Unjudged struct{ Why string }

// Error says why.
func (u *Unjudged) Error() string { return u.Why }

// MathJudge tells whether two normalised mathematical expressions are equal.
type MathJudge interface {
	Equal(ctx context.Context, given, truth string) (bool, error)
}

// batch bounds: what one worker takes at a time, so that memory stays small whatever the answers' length.
const (
	batchEntries = 64
	batchBytes   = 1 << 20
)

// entry is one answer on its way to a worker.
type entry struct {
	slot   int // place in the list of scores
	qsl    int
	data   []byte
	tokens int64 // as LoadGen was told; -1: it was not
}

// Score reads an accuracy log and scores every answer as the benchmark's reference script does.
func Score(ctx context.Context, in Input) (*Result, error) {
	b, err := FindIn(in.Benchmark, in.Round)
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

// check says what is missing before anything is read.
func (sc *scorer) check(b *Benchmark, in *Input) error {
	switch {
	case len(in.References) == 0:
		return fmt.Errorf("scoring %s as %s: the data set gave no references; name the benchmark's data set file", in.Log,
			b.Name)
	case sc.text != utf8Text && in.Decoder == nil && in.Remote == nil:
		return fmt.Errorf("scoring %s as %s: the log holds token ids, and there is no tokenizer to decode them; name the "+
			"model's tokenizer.json", in.Log, b.Name)
	case sc.sentences && in.Punkt == nil:
		return fmt.Errorf("scoring %s as %s: there are no parameters to split sentences with; name the folder english of "+
			"NLTK's punkt_tab data", in.Log, b.Name)
	case !slices.Contains([]DType{"", Int32, Int64, Float32}, in.DType):
		return fmt.Errorf("scoring %s as %s: the token type %q is none of int32, int64, float", in.Log, b.Name, in.DType)
	}
	return nil
}

// pipeline is one reader and several workers.
type pipeline struct {
	in         *Input
	sc         *scorer
	vocabulary int // token ids are below this; 0: unknown
	cancel     context.CancelCauseFunc
	work       chan []entry

	entries, outside int
	truncated        bool
	unreadable       int // lines of a damaged log that were left out

	mu           sync.Mutex
	scores       []SampleScore
	done         int
	foreign      int // answers with token ids beyond the vocabulary
	firstForeign foreignID
	miscounted   int // answers with another number of tokens than LoadGen was told
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

// read hands the log's entries to the workers in batches.
func (p *pipeline) read(ctx context.Context) error {
	seen := make([]bool, len(p.in.References))
	var batch []entry
	var size, slots int
	most := batchEntries
	if p.in.Code != nil {
		most = 1 // one program may take longer than a thousand other answers
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
			return fmt.Errorf("it answers sample %d, and the data set has %d; the log belongs to another data set", e.QSLIdx,
				len(seen))
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
		return errors.New("the log has no answers; run the test in accuracy mode and name its mlperf_log_accuracy.json")
	}
	return nil
}

// readLog hands over the log's entries, line by line where it is no whole array and the reference reads it so.
func (p *pipeline) readLog(take func(*mllog.AccuracyEntry) error) error {
	if p.sc.damagedLogs {
		if _, err := mllog.ReadAccuracyFile(p.in.Log, func(*mllog.AccuracyEntry) error { return nil }); err != nil {
			_, p.unreadable, err = mllog.ReadAccuracyLines(p.in.Log, take)
			return err
		}
	}
	log, err := mllog.ReadAccuracyFile(p.in.Log, take)
	p.truncated = log.Truncated
	return err
}

// score scores a batch and puts the scores at their places.
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

// decode turns the logged bytes into tokens and text.
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

// look notes what an answer's ids have that those of an accuracy test have not.
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

// tokenIDs reads little-endian tokens.
func tokenIDs(data []byte, dtype DType) ([]int32, error) {
	size := 4
	if dtype == Int64 {
		size = 8
	}
	if len(data)%size != 0 {
		return nil, fmt.Errorf("its %d bytes are no whole number of %d-byte tokens; the log was written with another token "+
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
				return nil, fmt.Errorf("its token %d is %v, which is no token id; the log was written with another token type, "+
					"so try --dtype", i, f)
			}
			v = int64(f)
		default:
			v = int64(int32(binary.LittleEndian.Uint32(data[i*4:])))
		}
		if v < math.MinInt32 || v > math.MaxInt32 {
			return nil, fmt.Errorf("its token %d is %d, which is no token id; the log was written with another token type, so "+
				"try --dtype", i, v)
		}
		ids[i] = int32(v)
	}
	return ids, nil
}
