package eventlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// Read calls each function with every request of a file, in the order of the file. Several functions run at the same
// time, each in a goroutine of its own. The request is valid until the function returns, which must not change it. The
// result is the end record; nil: the file has none, because the program that wrote it was killed or is still running.
//
// As many blocks are decoded at the same time as there are CPUs.
func Read(path string, each ...func(h *Header, r *Request) error) (*End, error) {
	return readFile(path, func(f *os.File) (*End, error) { return ReadFrom(f, each...) })
}

// ReadFrom is Read of an open file.
func ReadFrom(from io.Reader, each ...func(h *Header, r *Request) error) (*End, error) {
	return readBlocks(from, options{workers: runtime.GOMAXPROCS(0)}, each)
}

// First returns the header of a file that has a request; nil: it has none. The end is that of a file without requests.
func First(path string) (header *Header, end *End, err error) {
	first := func(h *Header, _ *Request) error {
		header = h
		return errFirst
	}
	end, err = readFile(path, func(f *os.File) (*End, error) {
		return readBlocks(f, options{workers: 1}, []func(*Header, *Request) error{first})
	})
	if errors.Is(err, errFirst) {
		err = nil
	}
	return header, end, err
}

// errFirst ends the reading after the first request.
var errFirst = errors.New("the first request was read")

func readFile(path string, read func(*os.File) (*End, error)) (*End, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	end, err := read(f)
	if err != nil {
		err = fmt.Errorf("the event log %s: %w", path, err)
	}
	return end, err
}

// options are how a log is read.
type options struct {
	workers int                // goroutines that decode
	aheadNS int64              // subtracted from each time
	whole   func(*block) error // called with each block after its requests; nil: not
}

// Bounds of a batch, and of those of one block that wait. All batches of a usual block have room, so that workers do
// not wait for each other.
const (
	batchRequests = 512
	batchEvents   = 1 << 14
	leastEvents   = 1 << 10 // that a batch has room for
	blockBatches  = 16
	blocksAhead   = 2    // of each worker
	mostFree      = 1024 // batches that are kept for later blocks
)

// batch is some requests of a log in their order.
type batch struct {
	header   *Header
	requests []Request // its memory is used again, and that of arena, in which their events are
	arena    []Event
	users    atomic.Int32 // functions that have not read it
}

// pipeline reads a log: one goroutine splits the file into blocks, and workers decode them. order has all blocks in
// their order, jobs those that no worker has taken.
type pipeline struct {
	options
	source
	order, jobs chan *block
	unused      chan *block
	free        chan *batch
	stop        chan struct{}
	busy        sync.WaitGroup // blocks that workers have or will get
}

func readBlocks(from io.Reader, o options, each []func(*Header, *Request) error) (*End, error) {
	ahead := blocksAhead * o.workers
	p := &pipeline{options: o, source: newSource(from, o.aheadNS), order: make(chan *block, ahead),
		jobs: make(chan *block, ahead), unused: make(chan *block, 2*ahead), free: make(chan *batch, mostFree),
		stop: make(chan struct{})}
	var wait sync.WaitGroup
	wait.Go(p.split)
	for range o.workers {
		wait.Go(p.work)
	}
	defer wait.Wait()
	defer close(p.stop)
	out := newOutput(each, p.free)
	end, err := p.deliver(out)
	return end, out.close(err)
}

// deliver passes the requests on in their order.
func (p *pipeline) deliver(out *output) (*End, error) {
	for k := range p.order {
		for b := range k.batches {
			if err := out.pass(b); err != nil {
				return nil, err
			}
		}
		if k.err != nil || k.ended {
			return k.end, k.err
		}
		if p.whole != nil {
			if err := p.whole(k); err != nil {
				return nil, err
			}
		}
		select {
		case p.unused <- k:
		default:
		}
	}
	return nil, nil // cut: what came before is whole
}

// split reads the file until its end.
func (p *pipeline) split() {
	defer crash.Catch()
	defer close(p.order)
	defer close(p.jobs)
	for {
		k := &block{}
		select {
		case k = <-p.unused:
		default:
		}
		err := p.next(k)
		switch {
		case err == io.EOF && p.header != nil:
			return
		case err == io.EOF:
			err = errHeader
		}
		k.err, k.batches = err, make(chan *batch, blockBatches)
		isLast, isBig := err != nil || k.ended, k.isBig()
		if isLast {
			close(k.batches)
		} else if isBig {
			p.busy.Wait()
		}
		select {
		case p.order <- k:
		case <-p.stop:
			return
		}
		if isLast {
			return
		}
		p.busy.Add(1)
		p.jobs <- k
		if isBig {
			p.busy.Wait()
		}
	}
}

// work decodes blocks.
func (p *pipeline) work() {
	defer crash.Catch()
	for k := range p.jobs {
		if k.err = k.check(); k.err == nil {
			k.err = p.parse(k)
		}
		close(k.batches) // the block may be used again from here on
		p.busy.Done()
	}
}

// parse fills batches with the requests of a block. Those before a fault are passed on too.
func (p *pipeline) parse(k *block) error {
	b := p.empty(k)
	defer func() { p.send(k, b) }()
	var last Request
	for c := (cursor{b: k.raw[k.body:]}); len(c.b) > 0; {
		r := b.extend()
		if err := c.request(r, &last, k.startNS); err != nil {
			b.requests = b.requests[:len(b.requests)-1]
			return err
		}
		b.keep(r)
		last.follow(r)
		k.requests++
		if b.isFull() {
			p.send(k, b)
			b = p.empty(k)
		}
	}
	return nil
}

// empty returns a batch for a block.
func (p *pipeline) empty(k *block) *batch {
	b := &batch{}
	select {
	case b = <-p.free:
	default:
	}
	b.header, b.requests, b.arena = k.header, b.requests[:0], b.arena[:0]
	return b
}

// send passes a batch on, unless the reader has stopped.
func (p *pipeline) send(k *block, b *batch) {
	select {
	case k.batches <- b:
	case <-p.stop:
	}
}

func (b *batch) isFull() bool { return len(b.requests) >= batchRequests || len(b.arena) >= batchEvents }

// extend appends a request, whose events have the free part of the arena.
func (b *batch) extend() *Request {
	n := len(b.requests)
	if n < cap(b.requests) {
		b.requests = b.requests[:n+1]
	} else {
		b.requests = append(b.requests, Request{})
	}
	r := &b.requests[n]
	r.Events = b.arena[len(b.arena):]
	return r
}

// keep reserves the events of the last request. Those of earlier ones stay where they are if the arena grows.
func (b *batch) keep(r *Request) {
	at, events := len(b.arena), len(r.Events)
	switch {
	case at+events <= cap(b.arena):
		b.arena = b.arena[:at+events]
	case cap(b.arena) >= batchEvents:
		b.arena = b.arena[:cap(b.arena)] // full: this request has memory of its own
	default:
		b.arena = make([]Event, events, max(events, min(max(2*cap(b.arena), leastEvents), batchEvents)))
		copy(b.arena, r.Events)
		r.Events = b.arena
	}
}
