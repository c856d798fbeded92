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
	probeTimeout = 5 * time.Second // of one request
	largestProbe = 1 << 20         // bytes of an answer
	probePause   = 200 * time.Millisecond
	freeGrace    = 2 * time.Second // for the kernel to close the sockets of processes that have ended
)

// errWrongModel is an answer that waiting does not change.
var errWrongModel = errors.New("another model is served")

// prober asks one server how it is. No proxy stands between, since the server runs on this machine. Each request has a
// connection of its own.
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

// healthy asks /health. Servers without that route answer 404, and are healthy when they list models.
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

// beats asks for health as a heartbeat does: who is slower than the time after which it counts as unhealthy has not
// answered.
func (p *prober) beats(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, min(limit, probeTimeout))
	defer cancel()
	return p.healthy(ctx)
}

// serves asks whether the model is listed. A folder may be listed by its last name.
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
	return fmt.Errorf("%w: %s/v1/models lists %s and not %s; correct model or served_model", errWrongModel, p.url,
		foreign.Line(strings.Join(ids, ", "), 400), model)
}

// awaitReady returns nil when the server is healthy and serves the model, or why it will not: wrong model, deadline,
// its end, a stop. still gets the last answer behind each pause of the length between.
func (p *prober) awaitReady(ctx context.Context, model string, limit time.Duration, ended <-chan struct{},
	between time.Duration, still func(error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errDeadline)
	defer cancel()
	var last error // that the server itself made, not the end of the wait
	word := time.NewTicker(between)
	defer word.Stop()
	for {
		err := p.healthy(ctx)
		if err == nil {
			err = p.serves(ctx, model)
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ended: // whoever answered was another server
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
		case <-word.C:
			still(last)
		case <-time.After(probePause):
		}
	}
}

var (
	errDeadline = errors.New("the start-up timeout is over (startup_timeout; a large model may need longer)")
	errEnded    = errors.New("the process has ended")
)

// portFree is an error when something listens on the address, or nothing can.
func portFree(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// awaitFree waits for the listeners of processes that have ended to vanish.
func awaitFree(address string) error {
	for deadline := time.Now().Add(freeGrace); ; time.Sleep(poll) {
		err := portFree(address)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
