package main

import (
	"context"
	"fmt"
	"syscall"

	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// livePage is the page of --live; nil without it.
type livePage struct{ *live.Server }

// openPage serves the page of --live. The returned context ends when a viewer stops the test.
func (t testRun) openPage(ctx context.Context) (context.Context, *livePage, error) {
	c := t.plan.Config
	if !c.Has("live") {
		if c.Bool("live-control") {
			return nil, nil, exit.Usage(exit.CodeLiveControl, "Add --live", "--live-control needs the page of --live")
		}
		return ctx, nil, nil
	}
	o := live.Options{Address: c.String("live"), Title: t.newProgress(t.plan).title, Folder: t.plan.Folder()}
	if c.Bool("live-control") {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		o.Stop = func() { cancel(run.Interrupt{Signal: syscall.SIGINT, By: "a viewer of the live page"}) }
	}
	s, err := live.Start(o)
	if err != nil {
		return nil, nil, exit.Environment(exit.CodeLive, "Give --live a free address of this machine, such as 127.0.0.1:8090",
			"the live page cannot be served: %w", err)
	}
	fmt.Fprintf(t.messages, "live page: %s\n", s.URL())
	return ctx, &livePage{s}, nil
}

// beside returns an observer that passes everything to another one and to the page.
func (l *livePage) beside(o run.Observer) run.Observer {
	if l == nil {
		return o
	}
	return observers{o, l.Server}
}

// finish shows the end of the test to the viewers.
func (l *livePage) finish(r *record.Record, err error) {
	if l != nil {
		l.Finish(r, err)
	}
}

// observers are called one after another.
type observers []run.Observer

func (list observers) Waiting(text string) {
	for _, o := range list {
		o.Waiting(text)
	}
}

func (list observers) Preflighted(pre *run.Preflight, notes []string) {
	for _, o := range list {
		o.Preflighted(pre, notes)
	}
}

func (list observers) Progress(now run.Progress) {
	for _, o := range list {
		o.Progress(now)
	}
}
