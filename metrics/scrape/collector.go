package scrape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/metrics/exposition"
	"github.com/mlperf-go/mlperf-go/metrics/series"
)

// Bounds of one scrape. vLLM's page has 60 to 150 KB.
const (
	maxPage    = 32 << 20 // bytes
	quoteRunes = 200      // of a foreign text in a cause
)

// timeout of one scrape; tests shorten it.
var timeout = 10 * time.Second

// MinInterval keeps a run from measuring its own scrapes.
const MinInterval = 100 * time.Millisecond

// Target is one metrics page, or another source of series.
type Target struct {
	Name   string // in the record
	URL    string
	APIKey string // sent as a bearer token; "": none
	Client *http.Client
	Source Source // nil: the page at URL
}

// Source is a target that is no page, such as the GPUs of this machine. Read returns values[i] of known[i], which only
// grows from call to call; the slices are valid until the next call.
type Source interface {
	Read() (known []exposition.Series, values []float64, err error)
	Close()
}

// Options of a collector.
type Options struct {
	Access   atomicfile.Access
	Path     string // of the file, whose folder is made; "": nothing is recorded
	Targets  []Target
	Interval time.Duration // MinInterval if it is shorter
	// Seen receives the signals of each successful scrape, of different targets at the same time; nil: they are not
	// derived.
	Seen func(target int, at time.Time, signals map[string]float64)
}

// Collector reads the pages until Stop.
type Collector struct {
	Options
	recorder *series.Recorder // nil: nothing is recorded
	pages    []*page
	end      chan struct{}
	running  sync.WaitGroup
}

// page is the state of one target. Its goroutine owns it.
type page struct {
	Target
	number  int
	parser  *exposition.Parser
	body    bytes.Buffer // of the last page
	scrapes int
	failed  int
	cause   error // first failure
	lost    error // error of writing, which ends the page's recording
	series  int   // number of series so far
	latest  series.Latest
}

// Start reads every target once and then at each interval. It returns after the first reading, so that the record
// begins before the first query.
func Start(ctx context.Context, o Options) (*Collector, error) {
	o.Interval = max(o.Interval, MinInterval)
	c := &Collector{Options: o, end: make(chan struct{})}
	if err := c.create(); err != nil {
		return nil, err
	}
	first := sync.WaitGroup{}
	for i, target := range o.Targets {
		p := &page{Target: target, number: i, parser: exposition.NewParser()}
		c.pages = append(c.pages, p)
		first.Go(func() {
			defer crash.Catch()
			c.scrape(ctx, p)
		})
	}
	first.Wait()
	for _, p := range c.pages {
		c.running.Go(func() {
			defer crash.Catch()
			c.follow(ctx, p)
		})
	}
	return c, nil
}

// create creates the file.
func (c *Collector) create() error {
	if c.Path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), c.Access.Folder()); err != nil {
		return err
	}
	names := make([]string, len(c.Targets))
	for i := range c.Targets {
		names[i] = c.Targets[i].Name
	}
	recorder, err := series.Create(c.Access, c.Path, time.Now(), c.Interval, names)
	c.recorder = recorder
	return err
}

// follow reads a page at each interval, and once more at the end.
func (c *Collector) follow(ctx context.Context, p *page) {
	tick := time.NewTicker(c.Interval) // drops ticks while a scrape takes longer
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.scrape(ctx, p)
		case <-c.end:
			c.scrape(context.WithoutCancel(ctx), p)
			return
		case <-ctx.Done():
			<-c.end
			return
		}
	}
}

func (c *Collector) scrape(ctx context.Context, p *page) {
	if p.lost != nil {
		return
	}
	at := time.Now()
	known, values, err := p.values(ctx)
	p.scrapes++
	p.series = len(known)
	if err != nil {
		p.failed++
		if p.cause == nil {
			p.cause = err
		}
	} else if c.Seen != nil {
		c.Seen(p.number, at, p.latest.Add(at, known, values))
	}
	if c.recorder != nil {
		p.lost = c.recorder.Append(p.number, at, known, values, err)
	}
}

// values reads the target: its source, or its page.
func (p *page) values(ctx context.Context) (known []exposition.Series, values []float64, err error) {
	if p.Source != nil {
		return p.Source.Read()
	}
	if err = p.read(ctx); err == nil {
		values, err = p.parser.Parse(p.body.Bytes())
	}
	return p.parser.Series(), values, err
}

// read fetches the page into p.body.
func (p *page) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no whole page came in %v", timeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return err
	}
	if p.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+p.APIKey)
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	request.Header.Set("Accept-Encoding", "identity") // here unpacking costs more than reading
	response, err := p.Client.Do(request)
	if err != nil {
		return cause(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	if kind := response.Header.Get("Content-Type"); strings.Contains(kind, "json") || strings.Contains(kind, "html") {
		return fmt.Errorf("the server answered with %s, which is not a metrics page", foreign.Line(kind, quoteRunes))
	}
	p.body.Reset()
	switch _, err := p.body.ReadFrom(io.LimitReader(response.Body, maxPage+1)); {
	case err != nil:
		return cause(ctx, err)
	case p.body.Len() > maxPage:
		p.body = bytes.Buffer{} // give the memory back
		return fmt.Errorf("the page has more than %d bytes", maxPage)
	}
	return nil
}

// cause returns why a request failed, without its URL, which may contain a secret.
func cause(ctx context.Context, err error) error {
	if limit := context.Cause(ctx); limit != nil {
		return limit
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Outcome is how the scrapes of one page went.
type Outcome struct {
	Target  string
	Scrapes int
	Failed  int
	Error   string // of the first failed scrape
	Series  int
}

// Stop reads each page once more and completes the file. An error means that the file could not be written.
func (c *Collector) Stop() ([]Outcome, error) {
	close(c.end)
	c.running.Wait()
	var outcomes []Outcome
	var lost error
	for _, p := range c.pages {
		o := Outcome{Target: p.Name, Scrapes: p.scrapes, Failed: p.failed, Series: p.series}
		if p.cause != nil {
			o.Error = foreign.Line(p.cause.Error(), quoteRunes)
		}
		outcomes = append(outcomes, o)
		if p.Source != nil {
			p.Source.Close()
		} else {
			p.Client.CloseIdleConnections()
		}
		lost = errors.Join(lost, p.lost)
	}
	if c.recorder == nil {
		return outcomes, nil
	}
	return outcomes, errors.Join(lost, c.recorder.Close())
}
