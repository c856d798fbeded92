package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
	"github.com/mlperf-go/mlperf-go/run/probe"
)

// Of is the kind of an experiment.
type Of string

// The experiments.
const (
	OfflineBatching Of = "offline-batching"
	Partition       Of = "partition"
)

// How is a way to send the samples.
type How string

// The ways of OfflineBatching and of Partition.
const (
	AllAtOnce    How = "all"           // every sample at once
	Window       How = "window"        // Size in flight; the next is sent when one ends
	Batch        How = "batch"         // Size at once; the next ones are sent when all of them have ended
	Sorted       How = "sorted"        // every sample at once, the longest first
	Contiguous   How = "contiguous"    // each replica has one piece of the order
	Strided      How = "strided"       // the replicas take turns
	LongestFirst How = "longest"       // each sample, the longest first, goes to the replica with the least work
	Stealing     How = "work-stealing" // contiguous; an idle replica takes from the end of the longest remaining piece
)

// Arrangement is one way, with its size.
type Arrangement struct {
	How  How `json:"how"`
	Size int `json:"size"` // requests in flight, per replica in Partition; 0: all
}

// Name returns the words for an arrangement.
func (a Arrangement) Name() string {
	switch a.How {
	case AllAtOnce:
		return "all at once"
	case Sorted:
		return "all, longest first"
	case LongestFirst:
		return "longest first"
	case Stealing:
		return "work stealing"
	case Window, Batch:
		return fmt.Sprintf("%s of %d", a.How, a.Size)
	}
	return string(a.How)
}

// Batching returns the arrangements of OfflineBatching.
func Batching(windows, batches []int) []Arrangement {
	list := []Arrangement{{How: AllAtOnce}}
	for _, n := range windows {
		list = append(list, Arrangement{Window, n})
	}
	list = append(list, Arrangement{How: Sorted})
	for _, n := range batches {
		list = append(list, Arrangement{Batch, n})
	}
	return list
}

// Partitions returns the arrangements of Partition with a number of requests in flight at each replica.
func Partitions(window int) []Arrangement {
	return []Arrangement{{Contiguous, window}, {Strided, window}, {LongestFirst, window}, {Stealing, window}}
}

// item is a sample to send.
type item struct {
	index  int // in the data set
	length int // tokens, estimated
}

// feed returns the queries of an arrangement. place receives the replica of a sample before the sample is sent; nil:
// the client chooses.
func (a Arrangement) feed(items []item, replicas int, place func(index, replica int)) probe.Feed {
	switch a.How {
	case Batch:
		return &line{items: items, size: a.Size, whole: true}
	case Window:
		return &line{items: items, size: a.Size}
	case Sorted:
		return &line{items: longestFirst(items), size: len(items)}
	case AllAtOnce:
		return &line{items: items, size: len(items)}
	}
	return newShares(a, items, replicas, place)
}

// longestFirst returns the items by length. Equal ones keep their order.
func longestFirst(items []item) []item {
	sorted := slices.Clone(items)
	ordering.Sort(sorted, func(a, b item) int { return cmp.Compare(b.length, a.length) })
	return sorted
}

// line sends items in their order.
type line struct {
	items  []item
	size   int  // of the window or of the batch
	whole  bool // whether it is a batch: no item is sent until all earlier ones have ended
	sent   int
	ended  int
	opened int // items that may be sent, of a batch
}

// Left returns how many items were not sent.
func (l *line) Left() int { return len(l.items) - l.sent }

// Ready reports whether the next item may be sent.
func (l *line) Ready() bool {
	if !l.whole {
		return l.sent-l.ended < l.size
	}
	if l.sent == l.opened && l.ended == l.sent {
		l.opened += l.size
	}
	return l.sent < l.opened
}

// Next returns the sample of the next item.
func (l *line) Next() int {
	l.sent++
	return l.items[l.sent-1].index
}

// Ended counts the end of a query.
func (l *line) Ended(int) { l.ended++ }
