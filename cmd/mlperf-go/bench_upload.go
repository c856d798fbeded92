package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/objectstore"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/contract"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// uploadOfProfile is the value of --upload that selects the destination of the profile.
const uploadOfProfile = "profile"

func (cmd benchCommand) upload() *cli.Command {
	return &cli.Command{
		Name: "upload", Usage: "send finished runs to S3 or Google Cloud Storage", ArgsUsage: "RUN... DESTINATION",
		OnUsageError: usageError,
		Description: "The destination is s3://BUCKET/PATH, gs://BUCKET/PATH, or the word profile for that of the runs' " +
			"profiles. Each run becomes a folder there. Files that are there already are not sent again.\n" +
			"The keys come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or from " +
			"GOOGLE_OAUTH_ACCESS_TOKEN, or from GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "ca-file", Usage: "PEM file of additional certificate authorities to trust"},
		},
		Action: cmd.runUpload,
	}
}

func (cmd benchCommand) runUpload(c *cli.Context) error {
	const write = "Write `mlperf-go bench upload RUN s3://BUCKET/PATH`"
	if c.NArg() < 2 {
		return exit.Usage(exit.CodeArgument, write, "this command requires the folder of a run and a destination")
	}
	folders := c.Args().Slice()[:c.NArg()-1]
	var stores []*objectstore.Store
	for _, folder := range folders { // before any upload
		if len(results.FindRuns(folder, 1)) == 0 {
			return exit.Usage(exit.CodeRunFolder, write, "%s has no finished run", folder)
		}
		s, err := cmd.store(c, c.Args().Get(c.NArg()-1), func() (*profile.Profile, error) {
			return profile.Read(filepath.Join(folder, bench.ProfileName))
		})
		if err != nil {
			return err
		}
		defer s.Close()
		stores = append(stores, s)
	}
	var all []*objectstore.Sent
	for i, folder := range folders {
		sent, err := cmd.sendTo(c.Context, stores[i], folder)
		if err != nil {
			return err
		}
		all = append(all, sent)
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"uploads": all})
	}
	return nil
}

// store opens the destination of a command line. of returns the profile of the run.
func (cmd benchCommand) store(c *cli.Context, to string,
	of func() (*profile.Profile, error)) (*objectstore.Store, error) {
	const hint = "docs/reference/upload.md describes destinations and keys"
	d, err := destination(to, of)
	if err != nil {
		return nil, exit.Usage(exit.CodeUpload, hint, "%w", err)
	}
	o := objectstore.Options{Lookup: cmd.variable, CAFile: c.String("ca-file")}
	if c.Bool("shared-output") {
		o.Access = atomicfile.Shared
	}
	s, err := objectstore.Open(d, o)
	if err != nil {
		return nil, exit.Usage(exit.CodeUpload, hint, "the upload to %s: %w", d, err)
	}
	return s, nil
}

func destination(to string, of func() (*profile.Profile, error)) (objectstore.Destination, error) {
	if to != uploadOfProfile {
		return objectstore.Parse(to)
	}
	p, err := of()
	if err != nil {
		return objectstore.Destination{}, err
	}
	if p.Upload == nil {
		return objectstore.Destination{}, errors.New("the profile has no destination (upload.url)")
	}
	d, err := objectstore.Parse(p.Upload.URL)
	d.Endpoint, d.Region, d.Addressing = p.Upload.Endpoint, p.Upload.Region, p.Upload.Addressing
	d.OfProfile = true
	return d, err
}

// localOutput returns the local folder of --output; empty: it is not given, or it is a destination.
func localOutput(c *cli.Context) string {
	if output := c.String("output"); !objectstore.IsURL(output) {
		return output
	}
	return ""
}

// uploads sends the runs of a command, each after its analysis.
type uploads struct {
	benchCommand
	ctx    context.Context // of the command; that of the servers may end earlier
	stores []*objectstore.Store
	exit   int // of the worst upload
}

// uploads opens the destinations of the runs, if there is an --upload. It sends nothing.
func (cmd benchCommand) uploads(c *cli.Context, list []contract.Rendered) (*uploads, error) {
	u := &uploads{benchCommand: cmd, ctx: c.Context}
	to := c.String("upload")
	if output := c.String("output"); objectstore.IsURL(output) {
		if to != "" {
			return nil, exit.Usage(exit.CodeUpload, "Name the local folder with --output",
				"--output %s is a destination, and --upload names another one", output)
		}
		to = output
	}
	if to == "" {
		return u, nil
	}
	for _, r := range list {
		s, err := cmd.store(c, to, func() (*profile.Profile, error) { return r.Profile, nil })
		if err != nil {
			u.close()
			return nil, err
		}
		u.stores = append(u.stores, s)
	}
	return u, nil
}

func (u *uploads) close() {
	for _, s := range u.stores {
		s.Close()
	}
}

// send sends the finished run i. An error is only printed, because the other runs do not depend on it.
func (u *uploads) send(i int, folder string) {
	if len(u.stores) == 0 {
		return
	}
	if _, err := u.sendTo(u.ctx, u.stores[i], folder); err != nil {
		e := run.Classify(err)
		u.complain(e)
		u.exit = max(u.exit, e.Exit)
	}
}

// sendTo sends a run and prints where it is.
func (cmd benchCommand) sendTo(ctx context.Context, s *objectstore.Store, folder string) (*objectstore.Sent, error) {
	var sent *objectstore.Sent
	err := context.Cause(ctx)
	if err == nil {
		cmd.notice("sending " + folder + " to " + s.String())
		sent, err = s.Upload(ctx, folder, uploadName(folder))
	}
	if err != nil {
		to := s.String()
		if s.OfProfile {
			to = uploadOfProfile
		}
		return nil, s.Failed(err, folder, servers.Quote("mlperf-go", "bench", "upload", folder, to))
	}
	for _, n := range sent.Notes {
		cmd.notice("note: " + n)
	}
	if !cmd.json && !cmd.quiet {
		cmd.out.line("upload      %s: %s, %.3g MB, %d verified", sent.URL, plural.Count(len(sent.Files), "file", "files"),
			float64(sent.Bytes)/1e6, sent.Verified)
	}
	return sent, nil
}

// uploadName names a run in a store: the name of its folder and the time of its start, so that no run replaces another
// one. A folder that is named by the time gets the id of the run instead.
func uploadName(folder string) string {
	name := filepath.Base(folder)
	if whole, err := filepath.Abs(folder); err == nil {
		name = filepath.Base(whole)
	}
	r, err := bench.Read(folder)
	switch {
	case err != nil: // of another kind, such as the folder of a pod
		return name
	case results.IsTime(name):
		return strings.NewReplacer("/", "-", "\\", "-").Replace(r.ID)
	}
	return name + "-" + results.TimeName(r.Started)
}

// withUpload returns a command line in which a destination of --output is one of --upload, so that --output may name
// the local folder.
func withUpload(line []string) []string {
	line = slices.Clone(line)
	for i, word := range line {
		for _, flag := range []string{"-r", "--output", "-output", "--r"} {
			value, inline := strings.CutPrefix(word, flag+"=")
			switch {
			case inline && objectstore.IsURL(value):
				line[i] = "--upload=" + value
			case word == flag && i+1 < len(line) && objectstore.IsURL(line[i+1]):
				line[i] = "--upload"
			}
		}
	}
	return line
}
