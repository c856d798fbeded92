package run

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// maxFinishes bounds the finish reasons that are told apart: the words are the server's.
const maxFinishes = 8

// finishes counts good answers whose finish reason is none of the usual ones. They are whole as far as anyone can tell
// (docs/reference/wire-protocols.md#whole-answers), and whoever reads the record should know what ended them.
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

// notes has a sentence for each reason.
func (f *finishes) notes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var notes []string
	for _, reason := range slices.Sorted(maps.Keys(f.counts)) {
		notes = append(notes, fmt.Sprintf("%d answers ended with finish_reason %q, which is none of the usual ones: they "+
			"count as whole", f.counts[reason], reason))
	}
	if f.others > 0 {
		notes = append(notes, fmt.Sprintf("%d answers ended with further unusual finish reasons", f.others))
	}
	return notes
}
