package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// livePage is the page of --live; nil without it.
type livePage struct {
	*live.Server
	children string // folder of the children's socket
	followed chan struct{}
	leave    context.CancelFunc // ends following the children
}

// openPage serves the page of --live. The returned context ends when a viewer stops the test.
func (p *program) openPage(ctx context.Context, c *config.Effective, o live.Options) (
	context.Context, *livePage, error) {
	if !c.Has("live") {
		if c.Bool("live-control") {
			return nil, nil, exit.Usage(exit.CodeLiveControl, "Add --live", "--live-control requires --live")
		}
		return ctx, nil, nil
	}
	o.Address = c.String("live")
	ctx, s, err := live.Open(ctx, o, c.Bool("live-control"))
	if err != nil {
		return nil, nil, err
	}
	if !strings.HasPrefix(o.Address, "unix:") { // a child's page is shown by its parent
		fmt.Fprintf(p.messages, "live page: %s\n", s.URL())
	}
	return ctx, &livePage{Server: s}, nil
}

// followChildren shows the tests of child processes, and returns the value of --live for each of them.
func (l *livePage) followChildren(ctx context.Context) (address string, err error) {
	if l == nil {
		return "", nil
	}
	if l.children, err = os.MkdirTemp("", "mlperf-go-live-"); err != nil {
		l.End(live.NoVerdict, err.Error(), nil)
		return "", exit.Environment(exit.CodeLive, "Make the folder for temporary files writable (TMPDIR)", "%w", err)
	}
	socket := filepath.Join(l.children, "page.sock")
	ctx, l.leave = context.WithCancel(context.WithoutCancel(ctx))
	l.followed = make(chan struct{})
	go func() {
		defer crash.Catch()
		defer close(l.followed)
		l.Follow(ctx, httpclient.New(httpclient.Options{Socket: socket}))
	}()
	return "unix:" + socket, nil
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

// end shows a result, or the error instead of it, and ends the page.
func (l *livePage) end(verdict, headline string, err error) {
	if l == nil {
		return
	}
	if l.leave != nil {
		l.leave()
		<-l.followed
		_ = os.RemoveAll(l.children) // a socket in the temporary folder
	}
	if err != nil {
		verdict, headline = live.NoVerdict, err.Error()
	}
	l.End(verdict, headline, nil)
}

// state shows the activity of a tune, a sweep or a campaign, and its expected end.
func (l *livePage) state(what string, left time.Duration) {
	if l == nil {
		return
	}
	rows := [][2]string{{"step", what}}
	if left > 0 {
		rows = append(rows, [2]string{"ends about", time.Now().Add(left).Format("2006-01-02 15:04")})
	}
	l.State(rows...)
}

// steps shows a table of steps.
func (l *livePage) steps(title string, head []string, rows [][]string) {
	if l != nil {
		l.Steps(report.LiveSteps{Title: title, Head: head, Rows: rows})
	}
}

// begin appends the next probe to the charts.
func (l *livePage) begin() {
	if l != nil {
		l.Begin()
	}
}

// progress shows the progress of a probe.
func (l *livePage) progress(p run.Progress) {
	if l != nil {
		l.Progress(p)
	}
}

// reportHint is advice about the folder of a test; showHint, about that of a tune, sweep or campaign.
func reportHint(folder string) string { return "mlperf-go report " + folder + " writes its report." }

func showHint(folder string) string { return "mlperf-go show " + folder + " prints its result." }

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
