package run

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// maxFinishes bounds the number of different finish reasons, which are the server's words.
const maxFinishes = 8

// finishes counts successful answers with an unusual finish reason. They count as complete, and the record notes the
// reason (docs/reference/wire-protocols.md#whole-answers).
type finishes struct {
	mu     sync.Mutex
	counts map[string]int64
	others int64 // of words beyond maxFinishes
}

// add counts one answer. Any goroutine may call it.
func (f *finishes) add(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.counts[reason]; !known && len(f.counts) == maxFinishes {
		f.others++
		return
	}
	if f.counts == nil {
		f.counts = map[string]int64{}
	}
	f.counts[reason]++
}

// notes returns a sentence for each reason.
func (f *finishes) notes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var notes []string
	for _, reason := range slices.Sorted(maps.Keys(f.counts)) {
		notes = append(notes, fmt.Sprintf("%s ended with finish_reason %q, which is unusual: counted as "+
			"whole", plural.Count(f.counts[reason], "answer", "answers"), reason))
	}
	if f.others > 0 {
		notes = append(notes, fmt.Sprintf("%s ended with further unusual finish reasons",
			plural.Count(f.others, "answer", "answers")))
	}
	return notes
}
