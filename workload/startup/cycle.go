package startup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/httpclient"
)

// Call sends a request without a body to a server and returns its status and the beginning of its body.
type Call func(ctx context.Context, method, path string) (status int, body []byte, err error)

// NeedsCycle reports whether the server has sleep mode while its log shows no sleep with a wake-up yet.
func (r *Report) NeedsCycle() bool { return r.SleepMode && len(r.Sleeps) < 2 }

// Times of a cycle of sleep mode.
const (
	cycleTimeout = 5 * time.Minute // large models copy their weights twice
	logTimeout   = 10 * time.Second
	logPoll      = 100 * time.Millisecond
)

// MeasureSleep puts the server at a base URL to sleep and wakes it, within minutes.
func MeasureSleep(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, cycleTimeout)
	defer cancel()
	client := httpclient.New(httpclient.Options{Timeout: cycleTimeout})
	return Cycle(ctx, func(ctx context.Context, method, path string) (int, []byte, error) {
		request, err := http.NewRequestWithContext(ctx, method, base+path, nil)
		if err != nil {
			return 0, nil, err
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, nil, err
		}
		defer response.Body.Close()
		body, err := httpclient.ReadBody(response, 1<<16)
		return response.StatusCode, body, err
	})
}

// AwaitCycle reads the log of a server again, until it shows the sleep and the wake-up. After seconds, the
// report has a note that they are missing.
func AwaitCycle(ctx context.Context, parse func() (*Report, error)) (*Report, error) {
	for end := time.Now().Add(logTimeout); ; time.Sleep(logPoll) {
		r, err := parse()
		if err != nil || !r.NeedsCycle() {
			return r, err
		}
		if time.Now().After(end) || ctx.Err() != nil {
			r.Notes = append(r.Notes, "the server slept and woke up, but the log does not show it: is it this server's?")
			return r, nil
		}
	}
}

// pollSleep is how often Cycle checks whether the server sleeps.
const pollSleep = 100 * time.Millisecond

// Cycle puts a server to sleep at level 1 and wakes it, so that its log contains how long both take. It waits until the
// server reports that it sleeps, at most until ctx ends.
func Cycle(ctx context.Context, call Call) error {
	if err := succeed(ctx, call, "POST", "/sleep?level=1"); err != nil {
		return err
	}
	for {
		status, body, err := call(ctx, "GET", "/is_sleeping")
		if err != nil {
			return fmt.Errorf("GET /is_sleeping: %w", err)
		}
		var answer struct {
			Sleeps *bool `json:"is_sleeping"`
		}
		if err := json.Unmarshal(body, &answer); status != 200 || err != nil || answer.Sleeps == nil {
			return errors.Join(fmt.Errorf("GET /is_sleeping: unexpected answer with status %d: %.200q", status, body),
				succeed(ctx, call, "POST", "/wake_up"))
		}
		if *answer.Sleeps {
			return succeed(ctx, call, "POST", "/wake_up")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not report that it sleeps: %w", context.Cause(ctx))
		case <-time.After(pollSleep):
		}
	}
}

func succeed(ctx context.Context, call Call, method, path string) error {
	status, body, err := call(ctx, method, path)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case status == 404:
		return fmt.Errorf("%s %s: the server has no such route (status 404); vLLM has it with --enable-sleep-mode and "+
			"VLLM_SERVER_DEV_MODE=1", method, path)
	case status != 200:
		return fmt.Errorf("%s %s: status %d: %.200q", method, path, status, body)
	}
	return nil
}
