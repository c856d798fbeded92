package profile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Server is a server with profiler routes.
type Server struct {
	URL    string
	APIKey string // sent as a bearer token; "": none
	Client *http.Client
}

// Routes are the routes /start_profile and /stop_profile of vLLM and SGLang (docs/reference/engines.md#profilers).
type Routes struct {
	Servers []Server
	Body    []byte // JSON that starts a profile; nil: none
}

// SGLangBody returns what SGLang's route expects: where to write, and what to record.
func SGLangBody(folder string) []byte {
	body := map[string]any{"activities": []string{"CPU", "GPU"}}
	if folder != "" {
		body["output_dir"] = folder
	}
	text, _ := json.Marshal(body) // texts are always encoded
	return text
}

// How names the routes.
func (r Routes) How() string { return "POST /start_profile and /stop_profile" }

// Start starts the profiler of each server. If one refuses, the others are stopped again.
func (r Routes) Start(ctx context.Context) error {
	for i, s := range r.Servers {
		if err := s.post(ctx, "/start_profile", r.Body); err != nil {
			for _, started := range r.Servers[:i] {
				err = errors.Join(err, started.post(ctx, "/stop_profile", nil))
			}
			return err
		}
	}
	return nil
}

// Stop stops the profiler of each server.
func (r Routes) Stop(ctx context.Context) error {
	var errs []error
	for _, s := range r.Servers {
		errs = append(errs, s.post(ctx, "/stop_profile", nil))
	}
	return errors.Join(errs...)
}

// longestAnswer is how much of an answer is quoted, in bytes.
const longestAnswer = 200

func (s Server) post(ctx context.Context, path string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+s.APIKey)
	}
	response, err := s.Client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, longestAnswer)) // it only explains the status
	switch {
	case response.StatusCode == http.StatusOK:
		return nil
	case response.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s has no route %s: start vLLM with --profiler-config, or use --profile-start", s.URL, path)
	}
	return fmt.Errorf("POST %s answered status %d: %s", s.URL+path, response.StatusCode,
		foreign.Line(string(text), longestAnswer))
}

// Commands are the shell commands that start and stop a profiler, such as nsys.
type Commands struct{ Starts, Stops string }

// How names the commands.
func (c Commands) How() string { return "--profile-start and --profile-stop" }

// Start runs the first command to its end.
func (c Commands) Start(ctx context.Context) error { return shell(ctx, c.Starts) }

// Stop runs the second command to its end.
func (c Commands) Stop(ctx context.Context) error { return shell(ctx, c.Stops) }

func shell(ctx context.Context, line string) error {
	out, err := exec.CommandContext(ctx, "sh", "-c", line).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, foreign.Line(strings.TrimSpace(string(out)), longestAnswer))
	}
	return nil
}
