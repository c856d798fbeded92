package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/mlflow"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// defaultExperiment is the experiment without --experiment.
const defaultExperiment = "mlperf-go"

func (cmd metricsCommand) upload() *cli.Command {
	return &cli.Command{
		Name: "upload", Usage: "send finished runs to MLflow or to an OpenTelemetry collector",
		ArgsUsage: "RUN...",
		Description: "With --otlp, the runs become traces and metrics of OpenTelemetry; the variables " +
			"OTEL_EXPORTER_OTLP_* apply. MLflow accepts campaigns too, and a run that it already has is not sent again. " +
			"MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME apply without --mlflow and --experiment; " +
			"MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, identify the user.",
		OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "mlflow", Usage: "URL of the tracking server, such as http://host:5000"},
			&cli.StringFlag{Name: "otlp", Usage: "base URL of a receiver of OTLP over HTTP, such as http://host:4318"},
			&cli.IntFlag{Name: "spans", Value: 1000, Usage: "with --otlp: maximum number of a run's requests that become spans"},
			&cli.StringFlag{Name: "experiment", Usage: "MLflow experiment, created if it does not exist; default: " +
				defaultExperiment},
			&cli.StringSliceFlag{Name: "tag", Usage: "tag of the runs, NAME=VALUE; repeatable"},
			&cli.BoolFlag{Name: "no-artifacts", Usage: "send only parameters, metrics and tags, without the files of a run"},
			&cli.StringFlag{Name: "ca-file", Usage: "PEM file of additional certificate authorities to trust"},
			&cli.BoolFlag{Name: "insecure-skip-verify", Usage: "accept any certificate of the server"},
		},
		Action: cmd.runUpload,
	}
}

func (cmd metricsCommand) runUpload(c *cli.Context) error {
	if c.NArg() == 0 {
		return exit.Usage(exit.CodeArgument, "Write `mlperf-go metrics upload RUN... --mlflow http://host:5000`",
			"this command requires the folder of a run or a campaign")
	}
	if c.IsSet("otlp") {
		return cmd.uploadSpans(c)
	}
	tags, err := uploadTags(c.StringSlice("tag"))
	if err != nil {
		return err
	}
	var runs []*mlflow.Run
	for _, folder := range c.Args().Slice() { // before any upload
		r, err := mlflow.Read(folder)
		if err != nil {
			return exit.Usage(exit.CodeRunFolder, "Give the folder of a finished run, workload or campaign", "%w", err)
		}
		r.Adjust(tags, !c.Bool("no-artifacts"))
		runs = append(runs, r)
	}
	server, err := cmd.trackingServer(c)
	if err != nil {
		return err
	}
	experiment := cmp.Or(c.String("experiment"), os.Getenv("MLFLOW_EXPERIMENT_NAME"), defaultExperiment)
	var all []*mlflow.Sent
	for _, r := range runs {
		cmd.notice(fmt.Sprintf("sending %s to %s", r.Folder, server.URL()))
		sent, err := server.Upload(c.Context, experiment, r)
		if err != nil {
			return uploadFailed(err)
		}
		if all = append(all, sent); !cmd.json {
			cmd.printSent(sent)
		}
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"experiment": experiment, "runs": all})
	}
	return nil
}

// uploadFailed adds advice to an error of an upload. It does not change an interruption.
func uploadFailed(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return exit.Environment(exit.CodeMLflow, "Check --mlflow and its credentials, then repeat the command: runs that "+
		"were sent completely are not sent again", "the run could not be sent: %w", err)
}

// trackingServer is the server of --mlflow or of MLflow's own variables.
func (cmd metricsCommand) trackingServer(c *cli.Context) (*mlflow.Server, error) {
	address := cmp.Or(c.String("mlflow"), os.Getenv("MLFLOW_TRACKING_URI"))
	if address == "" {
		return nil, exit.Usage(exit.CodeMLflow, "Write --mlflow http://host:5000, or --otlp http://host:4318",
			"no tracking server or collector given")
	}
	login := mlflow.Credentials{User: os.Getenv("MLFLOW_TRACKING_USERNAME"),
		Password: os.Getenv("MLFLOW_TRACKING_PASSWORD"), Token: os.Getenv("MLFLOW_TRACKING_TOKEN")}
	cmd.secrets.Add(login.Password)
	cmd.secrets.Add(login.Token)
	authorities, err := backends.Authorities(c.String("ca-file"))
	if err != nil {
		return nil, exit.Usage(exit.CodeCAFile, "Give a PEM file of certificates", "--ca-file: %w", err)
	}
	server, err := mlflow.NewServer(address, login, httpclient.New(httpclient.Options{Authorities: authorities,
		InsecureSkipVerify: c.Bool("insecure-skip-verify")}))
	if err != nil {
		return nil, exit.Usage(exit.CodeMLflow, "Write --mlflow http://host:5000", "%w", err)
	}
	return server, nil
}

// uploadTags parses NAME=VALUE.
func uploadTags(texts []string) (map[string]string, error) {
	tags := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, exit.Usage(exit.CodeArgument, "Write --tag NAME=VALUE", "the tag %q has no name and value", text)
		}
		tags[name] = value
	}
	return tags, nil
}

// printSent prints where a run is, and how many tests below it.
func (cmd metricsCommand) printSent(s *mlflow.Sent) {
	state := "sent"
	if s.Existed {
		state = "was there already"
	}
	files, bytes := s.Total()
	line := fmt.Sprintf("%s %s: %s", s.Name, state, s.URL)
	if n := len(s.Children); n > 0 {
		line += ", with " + plural.Count(n, "test", "tests")
	}
	if files > 0 {
		line += fmt.Sprintf(", %s, %.1f MB", plural.Count(files, "file", "files"), float64(bytes)/1e6)
	}
	cmd.out.line("%s", line)
}
