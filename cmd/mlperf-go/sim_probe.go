package main

import (
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// probeTimeout bounds the one request of sim --probe. The simulator answers it without any work.
const probeTimeout = 3 * time.Second

// probe asks the simulator that wrote the ready file whether it still serves, as the health check of the container
// image. Any answer below status 500 counts, because some dialects lack a route for it.
func (cmd simCommand) probe(c *cli.Context) error {
	path := c.String("ready-file")
	if path == "" {
		return exit.Usage(exit.CodeReadyFile, "", "--probe asks the simulator of a ready file; pass --ready-file FILE")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return exit.Environment(exit.CodeNotReady, "Start `mlperf-go sim` with the same --ready-file",
			"no simulator is ready: %w", err)
	}
	url := strings.TrimSpace(string(text))
	client := httpclient.New(httpclient.Options{Timeout: probeTimeout})
	defer client.CloseIdleConnections()
	answer, err := client.Get(url + "/health")
	if err != nil {
		return exit.Environment(exit.CodeNotReady, "", "the simulator does not answer: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusInternalServerError {
		return exit.Environment(exit.CodeNotReady, "", "the simulator at %s answers %s", url, answer.Status)
	}
	cmd.notice("the simulator at " + url + " serves")
	return nil
}
