package startup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Call sends a request without a body to a server and returns its status and the beginning of its body.
type Call func(ctx context.Context, method, path string) (status int, body []byte, err error)

// NeedsCycle reports whether the server has sleep mode while its log shows no sleep with a wake-up yet.
func (r *Report) NeedsCycle() bool { return r.SleepMode && len(r.Sleeps) < 2 }

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
