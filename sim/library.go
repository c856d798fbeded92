package sim

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

// library finds the data set's row of a prompt and its answer.
type library struct {
	rows      []datasets.Sample
	refs      []models.Reference
	right     []bool // rows with right answers
	form      form
	filler    *filler
	seed      uint64
	solutions []string         // programs that pass, by row; nil: no such column
	byIDs     map[uint64]int32 // hash of the prompt ids -> row; the first of equal prompts wins
	byText    map[string]int32 // prompt text -> row
	byChat    map[uint64]int32 // hash of the messages without blanks -> row
	answer    []atomic.Pointer[[]int32]
	tok       Tokenizer
}

func newLibrary(cfg *Config) *library {
	l := &library{
		tok: cfg.Tokenizer, seed: cfg.Seed, form: summary,
		byIDs: map[uint64]int32{}, byText: map[string]int32{}, byChat: map[uint64]int32{},
	}
	if cfg.Dataset == nil {
		return l
	}
	l.rows = cfg.Dataset.Samples
	l.answer = make([]atomic.Pointer[[]int32], len(l.rows))
	first := make([]int32, len(l.rows))
	for i := range l.rows {
		first[i] = l.index(int32(i))
	}
	l.refer(cfg.Row)
	l.right = rightRows(l.refs, first, cfg.Quality, cfg.Seed)
	l.filler = newFiller(func(yield func(string) bool) {
		for i := range l.refs {
			if !yield(l.refs[i].Target) {
				return
			}
		}
	})
	return l
}

// index adds a row to the maps and returns the first row with the same prompt.
func (l *library) index(row int32) int32 {
	r, first := &l.rows[row], row
	if len(r.InputIDs) > 0 {
		first = putFirst(l.byIDs, hashIDs(r.InputIDs), row)
	}
	if r.Input != "" {
		first = min(first, putFirst(l.byText, r.Input, row))
	}
	if len(r.Messages) > 0 {
		first = min(first, putFirst(l.byChat, hashJSON(r.Messages), row))
	}
	return first
}

// refer determines the right answers: the columns that the benchmark's scorer reads, else the reference outputs.
func (l *library) refer(row *models.Row) {
	l.refs = make([]models.Reference, len(l.rows))
	if row != nil && forms[row.Scoring.Scorer] != nil {
		l.form = forms[row.Scoring.Scorer]
	}
	for i := range l.rows {
		if row != nil && row.Scoring.Scorer != "" {
			n := min(len(l.rows[i].Kept), len(row.Scoring.Columns.Names()))
			l.refs[i], _ = row.Scoring.Columns.Reference(l.rows[i].Kept[:n])
			l.solutions = append(l.solutions, strings.Join(l.rows[i].Kept[n:], "\n"))
		}
		if l.refs[i].Target == "" {
			l.refs[i].Target = l.rows[i].Target
		}
	}
}

// putFirst stores v under the key unless it has a value, and returns the stored value.
func putFirst[K comparable](m map[K]int32, k K, v int32) int32 {
	if had, ok := m[k]; ok {
		return had
	}
	m[k] = v
	return v
}

// hashJSON is a hash of a JSON text without its blanks.
func hashJSON(raw []byte) uint64 {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return hashText(string(raw))
	}
	return hashText(b.String())
}

// rowOfIDs returns the row whose prompt is ids, or -1.
func (l *library) rowOfIDs(ids []int32) int32 {
	if i, ok := l.byIDs[hashIDs(ids)]; ok && slices.Equal(l.rows[i].InputIDs, ids) {
		return i
	}
	return -1
}

// rowOfText returns the row whose prompt text is s, or -1.
func (l *library) rowOfText(s string) int32 {
	if i, ok := l.byText[s]; ok {
		return i
	}
	return -1
}

// promptIDs returns the token ids of a text prompt: those of the data set's row if it has them.
func (l *library) promptIDs(s string, row int32) []int32 {
	if row >= 0 && len(l.rows[row].InputIDs) > 0 {
		return l.rows[row].InputIDs
	}
	return l.tok.Encode(s)
}

// reference returns the encoded answer to a row without the end token. It encodes each answer once.
func (l *library) reference(row int32) []int32 {
	if p := l.answer[row].Load(); p != nil {
		return *p
	}
	q := question{
		Reference: l.refs[row], filler: l.filler, seed: mix(l.seed ^ uint64(row)),
		output: l.rows[row].Target,
	}
	if l.solutions != nil {
		q.program = l.solutions[row]
	}
	ids := l.tok.Encode(l.form(&q, l.right[row]))
	l.answer[row].Store(&ids)
	return ids
}

// DatasetOptions makes a data set reader keep the columns from which answers are made.
func DatasetOptions(row *models.Row) datasets.Options {
	o := datasets.ForRow(row)
	o.KeepTarget = true
	if o.Keep = row.Scoring.Columns.Names(); row.Scoring.Solution != "" {
		o.Keep = append(o.Keep, row.Scoring.Solution)
	}
	return o
}
