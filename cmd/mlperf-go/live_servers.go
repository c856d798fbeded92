package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/metrics/scrape"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/servers"
)

const fleetEvery = time.Second // time between two checks of servers and their metrics

// fleetPage is the page of `server up --live`: the state of each replica, and the charts of its metrics.
type fleetPage struct {
	*livePage
	fleet   *servers.Fleet
	started time.Time

	mu      sync.Mutex
	seen    []run.ServerSignals
	ended   chan struct{}
	over    context.CancelFunc
	metrics *scrape.Collector
}

// showFleet serves the page. The returned context ends when a viewer stops the servers.
func (cmd serverCommand) showFleet(ctx context.Context, e *config.Effective, fleet *servers.Fleet, plan *servers.Plan) (
	context.Context, *fleetPage, error) {
	ctx, page, err := cmd.openPage(ctx, e, live.Options{Title: "Servers of " + plan.Served, What: "server",
		NoClient: true, Folder: plan.Dir, Next: "Their logs are in " + plan.Dir + "."})
	if err != nil || page == nil {
		return ctx, nil, err
	}
	f := &fleetPage{livePage: page, fleet: fleet, started: time.Now(), ended: make(chan struct{})}
	var pages []scrape.Target
	client := httpclient.New(httpclient.Options{})
	for _, u := range fleet.URLs() {
		pages = append(pages, scrape.Target{Name: u, URL: strings.TrimSuffix(u, "/") + "/metrics", Client: client})
	}
	looking, over := context.WithCancel(context.WithoutCancel(ctx))
	f.over = over
	f.metrics, err = scrape.Start(looking, scrape.Options{Access: atomicfile.Shared, Targets: pages, Interval: fleetEvery,
		Seen: func(n int, at time.Time, signals map[string]float64) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.seen = append(f.seen, run.ServerSignals{Number: n, Page: pages[n].Name, At: at, Values: signals})
		}})
	if err != nil {
		over()
		return nil, nil, err
	}
	go func() {
		defer crash.Catch()
		defer close(f.ended)
		f.follow(looking)
	}()
	return ctx, f, nil
}

// follow shows the servers until ctx ends.
func (f *fleetPage) follow(ctx context.Context) {
	tick := time.NewTicker(fleetEvery)
	defer tick.Stop()
	for {
		f.show()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (f *fleetPage) show() {
	state := f.fleet.State()
	var rows [][]string
	ready := 0
	for _, r := range state.Replicas {
		if r.Health == servers.Ready {
			ready++
		}
		rows = append(rows, []string{fmt.Sprint(r.Index), r.URL, string(r.Health), fmt.Sprint(r.Leader.PID),
			plural.Count(r.Unhealthy, "time", "times"), r.Exit})
	}
	f.State([2]string{"ready", fmt.Sprintf("%d of %d", ready, len(rows))},
		[2]string{"running for", time.Since(f.started).Round(time.Second).String()})
	f.steps("Replicas", []string{"replica", "address", "state", "process", "unhealthy", "exit"}, rows)
	f.mu.Lock()
	seen := f.seen
	f.seen = nil
	f.mu.Unlock()
	f.progress(run.Progress{Elapsed: time.Since(f.started), EndedUntil: time.Now(), Servers: seen})
}

// end shows how the servers ended, and ends the page.
func (f *fleetPage) end(err error) {
	if f == nil {
		return
	}
	f.over()
	<-f.ended
	_, lost := f.metrics.Stop()
	f.show()
	f.livePage.end("STOPPED", "The servers were stopped.", errors.Join(err, lost))
}
