package shard

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// Log is the event log of one shard.
type Log struct {
	Path   string
	Offset Offset
}

// Merge writes one event log with the requests of all shards, in the clock of the coordinator. It returns an error that
// names the shard if a log is missing, incomplete, or of another run, or if a request is in two of them. Numbers of
// requests and tokens add up exactly, because each request is copied. each gets every request that is written, which is
// valid during the call.
func Merge(logs []Log, path string, each func(*eventlog.Request)) (*eventlog.End, error) {
	header, err := mergedHeader(logs)
	if err != nil {
		return nil, err
	}
	w, err := eventlog.Join(path, *header)
	if err != nil {
		return nil, err
	}
	end := eventlog.End{Complete: true}
	var seen numbers
	for i, l := range logs {
		got, err := w.Add(l.Path, l.Offset.AheadNS, func(_ *eventlog.Header, r *eventlog.Request) error {
			err := seen.add(r.Seq)
			if err == nil {
				each(r)
			}
			return err
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("shard %d: %w", i, err), w.Close(eventlog.End{Cause: err.Error()}))
		}
		if got == nil || !got.Complete {
			end.Complete, end.Cause = false, fmt.Sprintf("shard %d did not come to its end", i)
		}
	}
	return &end, w.Close(end)
}

// numbers is a set of request numbers, with a bit for each, because a map of 64 million would need gigabytes.
type numbers []uint64

// mostNumber bounds the set to 128 MiB.
const mostNumber = 1 << 30

func (n *numbers) add(number int) error {
	if number < 0 || number >= mostNumber {
		return fmt.Errorf("the number of request %d is out of range", number)
	}
	if grown := number/64 + 1 - len(*n); grown > 0 {
		*n = append(*n, make([]uint64, grown)...)
	}
	word, bit := &(*n)[number/64], uint64(1)<<(number%64)
	if *word&bit != 0 {
		return fmt.Errorf("request %d is in the log of another shard too", number)
	}
	*word |= bit
	return nil
}

// mergedHeader returns the header of a merged log: the earliest start.
func mergedHeader(logs []Log) (*eventlog.Header, error) {
	var merged *eventlog.Header
	for i, l := range logs {
		h, err := headerOf(l.Path)
		if err != nil {
			return nil, fmt.Errorf("shard %d: %w", i, err)
		}
		if h == nil {
			continue // it had no request to send
		}
		h.StartNS -= l.Offset.AheadNS
		if merged == nil {
			merged = h
			continue
		}
		if h.Model != merged.Model {
			return nil, fmt.Errorf("shard %d measured the model %q, and shard 0 %q", i, h.Model, merged.Model)
		}
		merged.Rehearsal = cmp.Or(merged.Rehearsal, h.Rehearsal)
		merged.StartNS = min(merged.StartNS, h.StartNS)
	}
	if merged == nil {
		return nil, errors.New("no shard has sent a request")
	}
	return merged, nil
}

// headerOf returns the header of a log; nil: a log that has its end, but no request.
func headerOf(path string) (*eventlog.Header, error) {
	header, end, err := eventlog.First(path)
	if err == nil && header == nil && end == nil {
		err = fmt.Errorf("%s has no request and no end", path)
	}
	return header, err
}
