package main

import (
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

// otlpProgram is the program of the otlp module, which contains the SDK of OpenTelemetry.
const otlpProgram = "mlperf-go-otlp"

// certificateVariable is the SDK's variable for additional certificate authorities.
const certificateVariable = "OTEL_EXPORTER_OTLP_CERTIFICATE"

// uploadSpans replaces this process by the program of the otlp module.
func (cmd metricsCommand) uploadSpans(c *cli.Context) error {
	for _, name := range []string{"mlflow", "experiment", "tag", "no-artifacts", "insecure-skip-verify"} {
		if c.IsSet(name) {
			return exit.Usage(exit.CodeOTLP, "Leave one of them out", "--%s cannot be combined with --otlp", name)
		}
	}
	environ := cmd.environ
	if file := c.String("ca-file"); file != "" {
		environ = append(slices.Clone(environ), certificateVariable+"="+file)
	}
	arguments := []string{"--json=" + strconv.FormatBool(cmd.json), "--otlp", c.String("otlp"),
		"--spans", strconv.Itoa(c.Int("spans")), "--"}
	return becomeProgram(otlpProgram, "otlp", append(arguments, c.Args().Slice()...), environ)
}
