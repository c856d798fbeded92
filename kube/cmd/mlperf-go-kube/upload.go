package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/objectstore"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/servers"
)

func uploadFlag() cli.Flag {
	return &cli.StringFlag{Name: "upload",
		Usage: "send the collected folders there, from this machine: s3://BUCKET/PATH or gs://BUCKET/PATH"}
}

// openStore opens the destination of --upload, if it is given. It sends nothing.
func (p *program) openStore(c *cli.Context) error {
	to := c.String("upload")
	if to == "" {
		return nil
	}
	const hint = "docs/reference/upload.md describes destinations and keys"
	d, err := objectstore.Parse(to)
	if err != nil {
		return exit.Usage(exit.CodeUpload, hint, "--upload: %w", err)
	}
	if p.store, err = objectstore.Open(d, objectstore.Options{Lookup: os.LookupEnv}); err != nil {
		return exit.Usage(exit.CodeUpload, hint, "the upload to %s: %w", d, err)
	}
	return nil
}

// sendPods sends the collected folders of pods.
func (p *program) sendPods(ctx context.Context, result *launch.Result) {
	for _, pod := range result.Pods {
		if pod.Folder != "" { // empty: the pod was not waited for
			p.send(ctx, pod.Folder, filepath.Base(pod.Folder))
		}
	}
}

// send sends a folder to the store of --upload, if it is given. A failure is reported and sets the exit code, because
// the results are complete in their folder.
func (p *program) send(ctx context.Context, folder, name string) {
	if p.store == nil {
		return
	}
	sent, err := p.store.Upload(ctx, folder, name)
	if err != nil {
		e := exit.Classify(p.store.Failed(err, folder,
			servers.Quote("mlperf-go", "bench", "upload", folder, p.store.String())))
		p.notify(e.Error())
		p.exit = max(p.exit, e.Exit)
		return
	}
	for _, note := range sent.Notes {
		p.notify("note: " + note)
	}
	p.notify("sent to " + sent.URL + ": " + plural.Count(len(sent.Files), "file", "files"))
}
