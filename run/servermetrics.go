package run

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/metrics/gpu"
	"github.com/mlperf-go/mlperf-go/metrics/scrape"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// metricsPath is where servers and gateways publish their metrics (docs/reference/metrics.md#page).
const metricsPath = "/metrics"

// serverMetrics records the metrics pages of the servers beside a test. Its failures are notes of the record: they
// never change a verdict.
type serverMetrics struct {
	pages     []scrape.Target   // none: metrics were not asked for
	collector *scrape.Collector // nil: it does not run
	path      string
	failed    error // why it does not run

	mu   sync.Mutex
	seen []ServerSignals // since the last take
}

// ServerSignals are the figures of one metrics page at one reading.
type ServerSignals struct {
	Number int // of the page
	Page   string
	At     time.Time
	Values map[string]float64 // by the key of a signal (docs/reference/metrics.md#signals)
}

// mostSeen bounds the readings that wait for the next progress.
const mostSeen = 4096

func (m *serverMetrics) add(number int, at time.Time, signals map[string]float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.seen) < mostSeen {
		m.seen = append(m.seen, ServerSignals{number, m.pages[number].Name, at, signals})
	}
}

// take returns the readings since the last call.
func (m *serverMetrics) take() []ServerSignals {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.seen
	m.seen = nil
	return list
}

// find lists the pages of --metrics and --metrics-url, which implies --metrics. They are recorded in the file at path.
func (m *serverMetrics) find(in *inputs, path string) (err error) {
	if c := in.plan.Config; !c.Bool("metrics") && len(c.Strings("metrics-url")) == 0 {
		return nil
	}
	m.pages, err = in.metricsPages()
	m.path = path
	return err
}

// metricsPages returns the pages of the endpoints and of --metrics-url. Their passwords are kept out of all files.
func (in *inputs) metricsPages() ([]scrape.Target, error) {
	pages, err := metricsPages(in.config, in.plan.Config.Strings("metrics-url"))
	for _, page := range pages {
		if u, err := url.Parse(page.URL); err == nil {
			password, _ := u.User.Password()
			in.plan.Secrets.Add(password)
		}
	}
	if err != nil {
		return nil, err
	}
	return withGPUs(pages, in.config.Endpoints), nil
}

// gpuRoot contains sys; tests replace it.
var gpuRoot = "/"

// gpusName names the GPUs among the metrics pages.
const gpusName = "GPUs of this machine"

// withGPUs adds the GPUs of this machine to the pages of servers that may run on it.
func withGPUs(pages []scrape.Target, endpoints []backends.Endpoint) []scrape.Target {
	if !slices.ContainsFunc(endpoints, onThisMachine) {
		return pages
	}
	if gpus := gpu.Open(gpuRoot); gpus != nil {
		pages = append(pages, scrape.Target{Name: gpusName, Source: gpus})
	}
	return pages
}

// onThisMachine reports whether a server is reached by loopback or a socket, so that its GPUs may be this machine's.
func onThisMachine(e backends.Endpoint) bool {
	if e.Socket() != "" {
		return true
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && address.IsLoopback()
}

// metricsPages returns the metrics page of each endpoint, and further pages, which get no key.
func metricsPages(c *backends.Config, urls []string) ([]scrape.Target, error) {
	web := httpclient.Options{InsecureSkipVerify: c.InsecureSkipVerify}
	web.Proxy, _ = backends.ParseProxy(c.Proxy) // OpenDriver reports errors in these two
	web.Authorities, _ = backends.Authorities(c.CAFile)
	client := httpclient.New(web)
	web.Certificates, _ = backends.ClientCertificates(c.ClientCert, c.ClientKey) // not for further pages, as the key
	known := httpclient.New(web)
	var pages []scrape.Target
	for _, e := range c.Endpoints {
		page := scrape.Target{Name: e.URL, URL: e.URL + metricsPath, APIKey: e.APIKey, Client: known}
		if socket := e.Socket(); socket != "" {
			page.URL = "http://localhost" + metricsPath
			page.Client = httpclient.New(httpclient.Options{Socket: socket})
		}
		pages = append(pages, page)
	}
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, exit.Usage(exit.CodeMetricsURL, "Write --metrics-url http://host:port/metrics",
				"%q is no URL of a page", text)
		}
		if !slices.ContainsFunc(pages, func(p scrape.Target) bool { return p.URL == text }) { // else its sums count twice
			pages = append(pages, scrape.Target{Name: u.Redacted(), URL: text, Client: client})
		}
	}
	return pages, nil
}

// start begins to record, and returns after the first reading of each page.
func (m *serverMetrics) start(ctx context.Context, p *plan.Plan) {
	if len(m.pages) > 0 {
		m.collector, m.failed = scrape.Start(ctx, scrape.Options{Access: p.Access(), Path: m.path, Targets: m.pages,
			Interval: p.Config.Duration("metrics-interval"), Seen: m.add})
	}
}

// stop ends the recording and returns its summary for the record; nil without --metrics.
func (m *serverMetrics) stop() (*record.ServerMetrics, []string) {
	switch {
	case m.failed != nil:
		return nil, []string{"the servers' metrics were not recorded: " + m.failed.Error()}
	case m.collector == nil:
		return nil, nil
	}
	outcomes, err := m.collector.Stop()
	m.collector = nil
	if err != nil {
		return nil, []string{"the servers' metrics were lost: " + err.Error()}
	}
	return record.ReadServerMetrics(m.path, outcomes)
}
