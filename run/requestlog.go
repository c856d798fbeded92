package run

import (
	"runtime"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// earlyFrom is the number of samples from which the request log is written while LoadGen still computes its summary, on
// one thread. Below it the log takes less than half a second, and a copy of the samples beside LoadGen's memory and the
// connections' buffers would raise the peak of the run's memory.
const earlyFrom = 1 << 17

// requestLog is the request log of a test, which a goroutine writes while another computes the figures.
type requestLog struct {
	ready   chan struct{} // closed when data is set
	data    *ledger.Test
	written chan error // receives the result
	figures chan ledger.Metrics
}

// settle is called when LoadGen has ended a series of queries and every sample of it has ended too. A performance test
// has one series, so its samples are final.
func (t *test) settle() {
	t.sampler.Mark()
	if t.plan.Mode == models.Performance && t.ledger.Counts().Issued >= t.earlyFrom {
		select {
		case t.final <- struct{}{}:
		default:
		}
	}
}

// startRequestLog starts to write the request log. data is nil unless it is known already.
func (t *test) startRequestLog(data *ledger.Test) *requestLog {
	l := &requestLog{ready: make(chan struct{}), data: data, written: make(chan error, 1),
		figures: make(chan ledger.Metrics, 1)}
	path := t.path(record.RequestsName) // before a rescue changes the folder
	go func() {
		defer crash.Catch()
		if l.data == nil {
			l.data = t.timed()
		}
		close(l.ready)
		go func() {
			defer crash.Catch()
			l.figures <- l.data.Metrics()
		}()
		l.written <- t.writeRequests(path, l.data)
	}()
	return l
}

// requestLog returns the log that was started early, or starts it. A log in a lost folder is written again.
func (t *test) requestLog(gone *lostFolder) *requestLog {
	if t.early == nil {
		runtime.GC() // free the connections' buffers before the entries and their figures are allocated
		return t.startRequestLog(nil)
	}
	<-t.early.ready
	if gone != nil {
		<-t.early.written // a file of the lost folder
		return t.startRequestLog(t.early.data)
	}
	return t.early
}

// result waits until the log is written. One that was started early may have lacked the space that was held for the
// record, so it is written again.
func (t *test) result(l *requestLog) error {
	err := <-l.written
	if err == nil || l != t.early {
		return err
	}
	return t.writeRequests(t.path(record.RequestsName), l.data)
}
