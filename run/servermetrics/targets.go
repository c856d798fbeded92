package servermetrics

import (
	"net/netip"
	"net/url"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/metrics/gpu"
	"github.com/mlperf-go/mlperf-go/metrics/machine"
	"github.com/mlperf-go/mlperf-go/metrics/scrape"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// PagePath is where servers and gateways publish their metrics (docs/reference/metrics.md#page).
const PagePath = "/metrics"

// Targets returns the pages of the endpoints, further pages, and the GPUs of this machine if a server may run on it.
// The passwords of URLs are kept out of all files.
func Targets(c *backends.Config, further []string, secrets *secret.Redactor) ([]scrape.Target, error) {
	pages, err := Pages(c, further)
	for _, page := range pages {
		if u, err := url.Parse(page.URL); err == nil {
			password, _ := u.User.Password()
			secrets.Add(password)
		}
	}
	if err != nil {
		return nil, err
	}
	pages = withGPUs(pages, c.Endpoints)
	if load := machine.Open("/"); load != nil {
		pages = append(pages, scrape.Target{Name: machineName, Source: load})
	}
	return pages, nil
}

// machineName is the name of this machine's load in a record.
const machineName = "this machine"

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

// Pages returns the metrics page of each endpoint, and further pages, which get no key.
func Pages(c *backends.Config, further []string) ([]scrape.Target, error) {
	web := httpclient.Options{InsecureSkipVerify: c.InsecureSkipVerify}
	web.Proxy, _ = backends.ParseProxy(c.Proxy) // OpenDriver reports errors in these two
	web.Authorities, _ = backends.Authorities(c.CAFile)
	client := httpclient.New(web)
	web.Certificates, _ = backends.ClientCertificates(c.ClientCert, c.ClientKey) // like the key, not sent to further pages
	known := httpclient.New(web)
	var pages []scrape.Target
	for _, e := range c.Endpoints {
		page := scrape.Target{Name: e.URL, URL: e.URL + PagePath, APIKey: e.APIKey, Client: known}
		if socket := e.Socket(); socket != "" {
			page.URL = "http://localhost" + PagePath
			page.Client = httpclient.New(httpclient.Options{Socket: socket})
		}
		pages = append(pages, page)
	}
	for _, text := range further {
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
