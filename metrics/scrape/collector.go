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

// Target is one metrics page.
type Target struct {
	Name   string // in the record
	URL    string
	APIKey string // sent as a bearer token; "": none
	Client *http.Client
}

// Collector reads the pages until Stop.
type Collector struct {
	interval time.Duration
	recorder *series.Recorder
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
	lost    error // of writing, which ends the page's recording
}

// Start creates the file path, with its folder, reads every page once and then at each interval, which is MinInterval
// if it is shorter. It returns after the first reading, so that the record begins before the first query.
func Start(ctx context.Context, access atomicfile.Access, path string, targets []Target, interval time.Duration) (
	*Collector, error) {
	if err := os.MkdirAll(filepath.Dir(path), access.Folder()); err != nil {
		return nil, err
	}
	names := make([]string, len(targets))
	for i := range targets {
		names[i] = targets[i].Name
	}
	interval = max(interval, MinInterval)
	recorder, err := series.Create(access, path, time.Now(), interval, names)
	if err != nil {
		return nil, err
	}
	c := &Collector{interval: interval, recorder: recorder, end: make(chan struct{})}
	first := sync.WaitGroup{}
	for i, target := range targets {
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

// follow reads a page at each interval, and once more at the end.
func (c *Collector) follow(ctx context.Context, p *page) {
	tick := time.NewTicker(c.interval) // drops ticks while a scrape takes longer
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
	var values []float64
	err := p.read(ctx)
	if err == nil {
		values, err = p.parser.Parse(p.body.Bytes())
	}
	p.scrapes++
	if err != nil {
		p.failed++
		if p.cause == nil {
			p.cause = err
		}
	}
	p.lost = c.recorder.Append(p.number, at, p.parser.Series(), values, err)
}

// read gets the page into p.body.
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
	request.Header.Set("Accept-Encoding", "identity") // unpacking costs more here than reading
	response, err := p.Client.Do(request)
	if err != nil {
		return cause(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	if kind := response.Header.Get("Content-Type"); strings.Contains(kind, "json") || strings.Contains(kind, "html") {
		return fmt.Errorf("the server answered with %s, which is no metrics page", foreign.Line(kind, quoteRunes))
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
		o := Outcome{Target: p.Name, Scrapes: p.scrapes, Failed: p.failed, Series: len(p.parser.Series())}
		if p.cause != nil {
			o.Error = foreign.Line(p.cause.Error(), quoteRunes)
		}
		outcomes = append(outcomes, o)
		p.Client.CloseIdleConnections()
		lost = errors.Join(lost, p.lost)
	}
	return outcomes, errors.Join(lost, c.recorder.Close())
}
