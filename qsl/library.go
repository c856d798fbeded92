package qsl

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/spill"
)

// DefaultMemoryLimit is the memory in bytes that request bytes may take before they go to the scratch file.
const DefaultMemoryLimit = 2 << 30

// Options configures a library.
type Options struct {
	Dataset     *datasets.Dataset
	Total       int // number of samples that LoadGen may ask for; 0: all samples of the data set
	Performance int // number of samples in memory at once in performance mode; 0: Total

	// Encode appends the complete request bytes of a sample to dst and returns the result. It is called by Load, one
	// sample at a time.
	Encode func(dst []byte, s *datasets.Sample) ([]byte, error)

	MemoryLimit int64  // memory in bytes above which the scratch file is used; 0: DefaultMemoryLimit
	ScratchDir  string // folder of the scratch file; needed only above MemoryLimit

	// Store replaces the library's own store if the data set's messages are already in a store. Both then share its
	// memory and its file, and messages that a request contains unchanged are not stored twice. The caller that made it
	// closes it.
	Store *spill.Store
}

// Library is a query sample library. See the package comment for its thread rules.
type Library struct {
	o        Options
	mu       sync.Mutex     // serializes Load, Unload and Close
	requests [][]byte       // request bytes by sample index; nil: not loaded
	refs     []int32        // number of times each sample is loaded, by sample index
	blocks   []*spill.Block // location of the request bytes, by sample index
	// requests that contain the data set's messages; such a request stays in memory after Unload
	homes   [][]byte
	store   *spill.Store
	scratch []byte // buffer for Encode
	loaded  int
	bytes   int64
	closed  bool
}

// New returns an empty library. The error names the faulty option.
func New(o Options) (*Library, error) {
	switch {
	case o.Dataset == nil || len(o.Dataset.Samples) == 0:
		return nil, errors.New("cannot make a sample library of a data set with 0 samples: read or make a data set with at " +
			"least one")
	case o.Encode == nil:
		return nil, errors.New("cannot make a sample library without Encode: give the function that builds a sample's " +
			"request bytes")
	case o.MemoryLimit < 0:
		return nil, fmt.Errorf("cannot make a sample library with a request memory of %d bytes: give 0 (for the default of "+
			"2 GiB) or more", o.MemoryLimit)
	}
	have := len(o.Dataset.Samples)
	if o.Total == 0 {
		o.Total = have
	}
	if o.Performance == 0 {
		o.Performance = o.Total
	}
	if o.Total < 0 || o.Total > have {
		return nil, fmt.Errorf("cannot make a sample library of %d samples from data set %s: it has %d; ask for 1 to %[3]d",
			o.Total, name(o.Dataset), have)
	}
	if o.Performance < 0 || o.Performance > o.Total {
		return nil, fmt.Errorf("cannot make a sample library with a performance set of %d samples: the library has %d in "+
			"all; ask for 1 to %[2]d", o.Performance, o.Total)
	}
	if o.MemoryLimit == 0 {
		o.MemoryLimit = DefaultMemoryLimit
	}
	store := o.Store
	if store == nil {
		store = spill.New(o.MemoryLimit, o.ScratchDir)
	}
	return &Library{
		o:        o,
		requests: make([][]byte, o.Total),
		refs:     make([]int32, o.Total),
		blocks:   make([]*spill.Block, o.Total),
		homes:    make([][]byte, o.Total),
		store:    store,
	}, nil
}

func name(d *datasets.Dataset) string {
	switch {
	case d.Path != "":
		return filepath.Base(d.Path)
	case d.Schema != "":
		return d.Schema
	}
	return "in memory"
}

// Name is the data set's file name, as LoadGen logs it.
func (l *Library) Name() string { return name(l.o.Dataset) }

// TotalSampleCount is the number of samples that LoadGen may ask for.
func (l *Library) TotalSampleCount() int { return l.o.Total }

// PerformanceSampleCount is the number of samples that LoadGen loads at once in performance mode.
func (l *Library) PerformanceSampleCount() int { return l.o.Performance }

// Request returns the request bytes of a loaded sample, nil for any other index. They are read-only and valid until the
// sample is unloaded. Hot path: it takes no lock and allocates nothing.
func (l *Library) Request(index int) []byte {
	if uint(index) >= uint(len(l.requests)) {
		return nil
	}
	return l.requests[index]
}

// Load builds the request bytes of the samples that are not in memory yet. A sample that was loaded several times stays
// in memory until it was unloaded the same number of times. After an error, no sample of the call is loaded.
func (l *Library) Load(indices []int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	// the store holds the messages in this order, so that its blocks are freed one after another
	order := slices.Sorted(slices.Values(indices))
	for n, index := range order {
		if err := l.load(index); err != nil {
			for _, done := range order[:n] {
				l.unload(done)
			}
			return err
		}
	}
	l.store.Settle()
	return nil
}

func (l *Library) load(index int) error {
	if l.closed {
		return fmt.Errorf("cannot load sample %d: the sample library is closed", index)
	}
	if index < 0 || index >= l.o.Total {
		return fmt.Errorf("cannot load sample %d: the sample library has the samples 0 to %d; check the total sample count "+
			"that LoadGen was given", index, l.o.Total-1)
	}
	if l.refs[index] == 0 && l.homes[index] != nil {
		l.requests[index] = l.homes[index]
		l.loaded++
		l.bytes += int64(len(l.homes[index]))
	} else if l.refs[index] == 0 {
		body, err := l.o.Encode(l.scratch[:0], &l.o.Dataset.Samples[index])
		if err == nil && len(body) == 0 {
			err = errors.New("no bytes came out")
		}
		if err != nil {
			return fmt.Errorf("cannot build the request of sample %d (record %d of data set %s): %w; check that record, or "+
				"the backend's settings",
				index, index+1, name(l.o.Dataset), err)
		}
		l.scratch = body
		if l.requests[index], l.blocks[index], err = l.store.Put(body); err != nil {
			return fmt.Errorf("cannot keep the request of sample %d: %w", index, err)
		}
		l.loaded++
		l.bytes += int64(len(body))
		l.house(index)
	}
	l.refs[index]++
	return nil
}

// house replaces a sample's messages by the copy inside its request, if both are in the same store and the request
// contains the messages unchanged.
func (l *Library) house(index int) {
	messages, request := l.o.Dataset.Samples[index].Messages, l.requests[index]
	if l.o.Store == nil || l.o.Store != l.o.Dataset.Store || len(messages) == 0 {
		return
	}
	if at := bytes.Index(request, messages); at >= 0 && l.o.Dataset.MoveMessages(index, request[at:at+len(messages)]) {
		l.homes[index] = request
	}
}

// Unload releases samples and frees those that were unloaded as often as loaded. The error names the first sample that
// was not loaded often enough; then no sample of the call is unloaded.
func (l *Library) Unload(indices []int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, index := range indices {
		if index >= 0 && index < l.o.Total && l.refs[index] > 0 {
			l.refs[index]--
			continue
		}
		for _, done := range indices[:n] {
			l.refs[done]++
		}
		return fmt.Errorf("cannot unload sample %d: it is not loaded; unload each sample once per load", index)
	}
	for _, index := range indices {
		l.refs[index]++
	}
	for _, index := range indices {
		l.unload(index)
	}
	return nil
}

func (l *Library) unload(index int) {
	if l.refs[index]--; l.refs[index] > 0 {
		return
	}
	l.loaded--
	l.bytes -= int64(len(l.requests[index]))
	l.requests[index] = nil
	if l.homes[index] == nil {
		l.store.Drop(l.blocks[index])
		l.blocks[index] = nil
	}
}

// Loaded returns the number of different samples in memory.
func (l *Library) Loaded() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loaded
}

// Bytes returns the size of all loaded request bytes, in memory and in the scratch file.
func (l *Library) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// Spilled reports whether the library has used a scratch file since New.
func (l *Library) Spilled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store.Spilled()
}

// ScratchBytes returns the largest length that the scratch file had, in bytes; 0 if it was not used.
func (l *Library) ScratchBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store.ScratchBytes()
}

// Close frees everything. Request bytes must not be read after it. A closed library cannot load samples.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	clear(l.requests)
	clear(l.blocks)
	clear(l.homes)
	clear(l.refs)
	l.loaded, l.bytes, l.scratch = 0, 0, nil
	if l.o.Store != nil {
		return nil
	}
	return l.store.Close()
}
