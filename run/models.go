package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/crash"
)

const (
	askModelTimeout = 5 * time.Second // for one question; the end of a run does not wait longer
	askModelPause   = 2 * time.Second // between two rounds of questions during a test
)

// modelWatch asks endpoints for their model during a test, independently of the clients: an endpoint that reconnects,
// and all endpoints at the end.
type modelWatch struct {
	askModel func(context.Context, backends.Endpoint, *backends.Config) (map[string]string, error) // nil: not supported
	config   backends.Config
	before   []map[string]string // by endpoint, as the preflight found it
	due      []atomic.Bool       // by endpoint; whether it is to be asked
	wake     chan struct{}
	stop     chan struct{}
	over     chan struct{}

	mu     sync.Mutex
	others []string // one sentence for each endpoint that served another model
	notes  []string
}

// watchModels starts the watch. It asks an endpoint after a call of reconnected.
func watchModels(d backends.Driver, c *backends.Config, pre *Preflight) *modelWatch {
	w := &modelWatch{config: *c, due: make([]atomic.Bool, len(c.Endpoints)), wake: make(chan struct{}, 1),
		stop: make(chan struct{}), over: make(chan struct{})}
	w.askModel = d.Describe().AskModel
	w.config.Asking = nil
	for _, e := range c.Endpoints {
		w.before = append(w.before, nil)
		if at := slices.IndexFunc(pre.Endpoints, func(p *backends.Probe) bool { return p.URL == e.URL }); at >= 0 {
			w.before[len(w.before)-1] = pre.Endpoints[at].Identity
		}
	}
	go func() {
		defer crash.Catch()
		defer close(w.over)
		w.run()
	}()
	return w
}

// reconnected notes that an endpoint accepts connections again. It does not block.
func (w *modelWatch) reconnected(endpoint int) {
	w.due[endpoint].Store(true)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *modelWatch) run() {
	for {
		select {
		case <-w.stop:
			return
		case <-w.wake:
		}
		again := false
		for i := range w.due {
			if w.due[i].Swap(false) && w.ask(i) != nil { // the server may still be loading
				w.due[i].Store(true)
				again = true
			}
		}
		select {
		case <-w.stop:
			return
		case <-time.After(askModelPause):
		}
		if again {
			select {
			case w.wake <- struct{}{}:
			default:
			}
		}
	}
}

// ask asks one endpoint. It returns an error if the endpoint does not answer.
func (w *modelWatch) ask(endpoint int) error {
	if w.askModel == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), askModelTimeout)
	defer cancel()
	now, err := w.askModel(ctx, w.config.Endpoints[endpoint], &w.config)
	var fault *backends.EndpointError
	other := ""
	switch {
	case errors.As(err, &fault) && fault.Fault == backends.FaultWrongModel:
		other = fault.Error()
	case err != nil:
		return err
	default:
		other = otherModel(w.before[endpoint], now)
	}
	if other == "" {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.config.Endpoints[endpoint].URL + ": " + other
	if !slices.Contains(w.others, text) {
		w.others = append(w.others, text)
	}
	return nil
}

// otherModel returns a sentence if the two identities differ, or "".
func otherModel(before, now map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if value, ok := now[key]; ok && value != before[key] {
			return fmt.Sprintf("the %s of the served model is %q, and was %q before the test", key, value, before[key])
		}
	}
	return ""
}

// end asks every endpoint a last time. A server that is gone by then is only noted, since it has answered its requests.
func (w *modelWatch) end(ask bool) {
	close(w.stop)
	<-w.over // let a pending question finish: the server may be gone a moment later
	if ask {
		w.askAll()
	}
}

// askAll asks every endpoint now.
func (w *modelWatch) askAll() {
	var all sync.WaitGroup
	for i := range w.config.Endpoints {
		all.Go(func() {
			defer crash.Catch()
			if err := w.ask(i); err != nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.notes = append(w.notes, fmt.Sprintf("the server could not be asked for its model at the end of the test: %v",
					err))
			}
		})
	}
	all.Wait()
	slices.Sort(w.notes)
	slices.Sort(w.others)
}
