// Command mlperf-go-otlp sends finished runs to an OpenTelemetry collector.
// `mlperf-go metrics upload --otlp` starts it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/otlp/export"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(mainCode(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the command line, which `mlperf-go` writes.
type options struct {
	json  bool
	to    string
	spans int
	runs  []string
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	set := flag.NewFlagSet("mlperf-go-otlp", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.BoolVar(&o.json, "json", false, "print the result as one JSON object")
	set.StringVar(&o.to, "otlp", "", "URL of the receiver; empty: OTEL_EXPORTER_OTLP_ENDPOINT")
	set.IntVar(&o.spans, "spans", 1000, "most requests of a run that become spans")
	err = set.Parse(args)
	o.runs = set.Args()
	return o, err
}

func mainCode(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	sent, err := send(ctx, &o)
	for _, s := range sent {
		if !o.json {
			fmt.Fprintf(stdout, "%s sent: trace %s, %s, %s of metrics\n", s.Name, s.Trace,
				plural.Count(s.Spans, "span", "spans"), plural.Count(s.Points, "point", "points"))
		}
	}
	if err != nil {
		e := exit.Classify(err)
		if o.json {
			print(stdout, map[string]any{"error": map[string]any{"code": e.Code, "message": e.Err.Error(), "hint": e.Hint}})
		}
		fmt.Fprintln(stderr, "mlperf-go metrics upload: "+foreign.Lines(e.Error(), 4000))
		return e.Exit
	}
	if o.json {
		print(stdout, map[string]any{"runs": sent})
	}
	return 0
}

func print(to io.Writer, v any) {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(v) // the exit code reports whether the runs were sent
}

// send reads all runs before it sends the first.
func send(ctx context.Context, o *options) (sent []*export.Sent, err error) {
	var runs []*export.Run
	for _, folder := range o.runs {
		r, err := export.Read(folder)
		if err != nil {
			return nil, exit.Usage(exit.CodeRunFolder, "Give the folder of a finished run", "%w", err)
		}
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		return nil, exit.Usage(exit.CodeArgument, "Write `mlperf-go metrics upload RUN... --otlp http://host:4318`",
			"this command requires the folder of a run")
	}
	to, err := export.NewCollector(ctx, o.to)
	if err != nil {
		return nil, exit.Usage(exit.CodeOTLP, "Write --otlp http://host:4318", "%w", err)
	}
	for _, r := range runs {
		s, err := to.Send(ctx, r, o.spans)
		if err != nil {
			return sent, exit.Environment(exit.CodeOTLP, "Check --otlp and OTEL_EXPORTER_OTLP_*, then write the same line "+
				"again: the ids of the spans will be the same", "%s could not be sent: %w", r.Name, err)
		}
		sent = append(sent, s)
	}
	return sent, to.Close(ctx)
}
