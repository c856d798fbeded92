package lengths

import (
	"fmt"
	"os"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// unfinished is the key of samples that never ended, in Report.Failures.
const unfinished = "unfinished"

// OfAnswers reads a run's requests file and computes the statistics of its answers. Failed samples enter no length.
func OfAnswers(path string) (*Report, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, fmt.Errorf("the run has no log of its requests: %w", err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file, so it is not read", path)
	}
	r := &Report{Finishes: map[string]int{}, Failures: map[string]int{}}
	tokens := newPair("tokens")
	err := ledger.EachAnswer(path, func(a ledger.Answer) {
		switch {
		case !a.Ended:
			r.fail(unfinished)
		case a.Reason != "":
			r.fail(string(a.Reason))
		default:
			r.Samples++
			r.Finishes[bounded(r.Finishes, a.Finish)]++
			tokens.add(a.InputTokens, a.OutputTokens)
		}
	})
	if err != nil {
		return nil, err
	}
	r.Measures = present(tokens.measures())
	return r, nil
}

func (r *Report) fail(reason string) { r.Failures[bounded(r.Failures, reason)]++ }

// maxWords bounds the different words of a file with a count of their own. This program writes at most 256.
const maxWords = 256

// bounded returns the word, or "other" if the counts are full.
func bounded(counts map[string]int, word string) string {
	if _, known := counts[word]; !known && len(counts) >= maxWords {
		return "other"
	}
	return word
}
