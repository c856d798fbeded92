package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
)

const (
	probeTimeout = 5 * time.Second // per request
	largestProbe = 1 << 20         // bytes of an answer
	probePause   = 200 * time.Millisecond
	freeGrace    = 2 * time.Second // for the kernel to close the sockets of ended processes
)

// errWrongModel ends the wait for a server, since waiting does not change the model.
var errWrongModel = errors.New("another model is served")

// prober sends health requests to one server, each on a new connection and without a proxy.
type prober struct {
	client *http.Client
	url    string
	apiKey string
}

func newProber(url, apiKey string) *prober {
	return &prober{client: httpclient.New(httpclient.Options{}), url: url, apiKey: apiKey}
}

func (p *prober) get(ctx context.Context, path string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	response, err := p.ask(ctx, http.MethodGet, path)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	if body, err = httpclient.ReadBody(response, largestProbe); err != nil {
		return 0, nil, fmt.Errorf("GET %s%s: %w", p.url, path, err)
	}
	return response.StatusCode, body, nil
}

// ask sends a request without a body.
func (p *prober) ask(ctx context.Context, method, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.url+path, nil)
	if err != nil {
		return nil, err
	}
	request.Close = true
	if p.apiKey != "" {
		request.Header.Set("Authorization", "Bearer "+p.apiKey)
	}
	return p.client.Do(request)
}

// healthy requests /health. If the server answers 404, it is healthy if it lists models.
func (p *prober) healthy(ctx context.Context) error {
	for _, path := range []string{"/health", "/v1/models"} {
		status, _, err := p.get(ctx, path)
		switch {
		case err != nil:
			return err
		case status == http.StatusOK:
			return nil
		case status != http.StatusNotFound:
			return fmt.Errorf("GET %s%s: status %d", p.url, path, status)
		}
	}
	return fmt.Errorf("%s has neither /health nor /v1/models", p.url)
}

// beats is healthy with the timeout of a heartbeat.
func (p *prober) beats(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, min(limit, probeTimeout))
	defer cancel()
	return p.healthy(ctx)
}

// serves returns an error unless the server lists the model. A folder may be listed by its base name.
func (p *prober) serves(ctx context.Context, model string) error {
	status, body, err := p.get(ctx, "/v1/models")
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("GET %s/v1/models: status %d: %.200q", p.url, status, body)
	}
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("GET %s/v1/models: %w", p.url, err)
	}
	ids := []string{}
	for _, m := range list.Data {
		if m.ID == model || filepath.Base(m.ID) == filepath.Base(model) && m.ID != "" || model == "" {
			return nil
		}
		ids = append(ids, m.ID)
	}
	if len(ids) == 0 {
		return fmt.Errorf("GET %s/v1/models lists no model", p.url)
	}
	return fmt.Errorf("%w: %s/v1/models lists %s but not %s; correct model or served_model", errWrongModel, p.url,
		foreign.Line(strings.Join(ids, ", "), 400), model)
}

// awaitReady waits until the server is healthy and serves the model. It returns an error if the server has the wrong
// model or exits, or at the limit, or when ctx is done. While it waits, it passes the last error to still every
// between.
func (p *prober) awaitReady(ctx context.Context, model string, limit time.Duration, ended <-chan struct{},
	between time.Duration, still func(error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errDeadline)
	defer cancel()
	var last error // from the server, not from the end of the wait
	report := time.NewTicker(between)
	defer report.Stop()
	for {
		err := p.healthy(ctx)
		if err == nil {
			err = p.serves(ctx, model)
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ended: // the answer came from another server
			return errEnded
		default:
		}
		if err == nil || errors.Is(err, errWrongModel) {
			return err
		}
		select {
		case <-ended:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer was: %w", context.Cause(ctx), last)
		case <-report.C:
			still(last)
		case <-time.After(probePause):
		}
	}
}

var (
	errDeadline = errors.New("not ready within startup_timeout (a large model may need longer)")
	errEnded    = errors.New("the process has exited")
)

// portFree returns an error if the address is in use or cannot be bound.
func portFree(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// awaitFree waits until the address can be bound, at most freeGrace.
func awaitFree(address string) error {
	for deadline := time.Now().Add(freeGrace); ; time.Sleep(poll) {
		err := portFree(address)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
