package run

import (
	"fmt"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// The time before the first report of a late answer, and between reports.
const (
	patience      = 2500 * time.Millisecond
	patienceAgain = 15 * time.Second
)

// question is the last request to a server.
type question struct {
	request string
	asked   time.Time
	longest time.Duration
}

// narrate returns a configuration that reports late answers to the observer until stop is called.
func narrate(c *backends.Config, o Observer) (asking *backends.Config, stop func()) {
	questions, end := make(chan question), make(chan struct{})
	own := *c
	own.Asking = func(request string, longest time.Duration) {
		select {
		case questions <- question{request, time.Now(), longest}:
		case <-end:
		}
	}
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer crash.Catch()
		defer done.Done()
		var q question
		late := time.NewTimer(patience)
		late.Stop()
		defer late.Stop()
		for {
			select {
			case <-end:
				return
			case next := <-questions:
				if next.request != q.request { // otherwise the server answers, but is asked again and again
					q = next
					late.Reset(patience)
				}
			case <-late.C:
				o.Waiting(fmt.Sprintf("waiting for an answer to %s, for %.0f s so far and %v at most", q.request,
					time.Since(q.asked).Seconds(), q.longest))
				late.Reset(patienceAgain)
			}
		}
	}()
	return &own, func() {
		close(end)
		done.Wait()
	}
}
