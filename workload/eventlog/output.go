package eventlog

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// queued is how many batches wait for each function at most.
const queued = 16

// errFailed ends the reading after a function has failed. Its own error replaces this one.
var errFailed = errors.New("a function failed")

// output passes batches to one function here, or to several, each in a goroutine of its own.
type output struct {
	each   []func(*Header, *Request) error
	free   chan *batch
	queues []chan *batch
	wait   sync.WaitGroup
	failed atomic.Bool
	errs   []error // by function
}

func newOutput(each []func(*Header, *Request) error, free chan *batch) *output {
	o := &output{each: each, free: free, errs: make([]error, len(each))}
	if len(each) == 1 {
		return o
	}
	for i := range each {
		q := make(chan *batch, queued)
		o.queues = append(o.queues, q)
		o.wait.Go(func() {
			defer crash.Catch()
			o.run(i, q)
		})
	}
	return o
}

func (o *output) run(i int, q chan *batch) {
	for b := range q {
		if o.errs[i] == nil {
			if o.errs[i] = o.call(i, b); o.errs[i] != nil {
				o.failed.Store(true)
			}
		}
		if b.users.Add(-1) == 0 {
			o.release(b)
		}
	}
}

func (o *output) call(i int, b *batch) error {
	for k := range b.requests {
		if err := o.each[i](b.header, &b.requests[k]); err != nil {
			return err
		}
	}
	return nil
}

func (o *output) release(b *batch) {
	select {
	case o.free <- b:
	default:
	}
}

// pass calls the functions with each request of a batch, at once or soon.
func (o *output) pass(b *batch) error {
	if len(o.each) == 1 {
		err := o.call(0, b)
		o.release(b)
		return err
	}
	if o.failed.Load() {
		return errFailed
	}
	b.users.Store(int32(len(o.each)))
	for _, q := range o.queues {
		q <- b
	}
	return nil
}

// close waits for the functions. It returns the error of the first that failed, or else the given one.
func (o *output) close(err error) error {
	for _, q := range o.queues {
		close(q)
	}
	o.wait.Wait()
	for _, failed := range o.errs {
		if failed != nil {
			return failed
		}
	}
	return err
}
