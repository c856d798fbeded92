package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/snapshot"
	"github.com/mlperf-go/mlperf-go/kube/target"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/contract"
)

// targetFile is a file beside the results that records which server was found.
const targetFile = "target.json"

// mockURL replaces the server's URL in a dry run, which does not look for servers. llm-d-benchmark prints the same.
const mockURL = "http://mock:1234"

// aim adds the servers to each launch: those of --endpoint-url, else of --methods, else of the profile, else those that
// the default of --methods finds. It returns the found server of each launch; nil: the URL was given. Without access to
// a cluster it does not search.
func (cmd runCommand) aim(c *cli.Context, access *cluster.Cluster, v *contract.Invocation, list []contract.Rendered,
	launches []*objects.Launch) ([]*target.Target, error) {
	found := make([]*target.Target, len(launches))
	given := v.Values(contract.Endpoint)
	if len(given) > 0 && c.IsSet("methods") {
		cmd.notify("--endpoint-url names the server; --methods is ignored")
	}
	for i, l := range launches {
		urls := given
		if len(given) == 0 && (c.IsSet("methods") || list[i].Profile.API.Endpoint == "") {
			t, err := cmd.find(c, access, cmp.Or(list[i].Server, c.String("methods")), list[i].Model)
			if err != nil {
				return nil, err
			}
			cmd.notify("the server is " + t.String())
			urls, found[i], l.Target = t.URLs, t, t.String()
		}
		if len(urls) > 0 {
			l.Stack.URL = urls[0]
		}
		for _, url := range urls {
			l.Args = append(l.Args, "--endpoint-url", url)
		}
	}
	return found, nil
}

// serverNames returns the names that --methods lists. A list with = is one label selector.
func serverNames(c *cli.Context) ([]string, error) {
	text := c.String("methods")
	if !strings.Contains(text, ",") || strings.Contains(text, "=") {
		return []string{text}, nil
	}
	names := strings.Split(text, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		if names[i] == "" || slices.Contains(names[:i], names[i]) {
			return nil, exit.Usage(exit.CodeUsage, "Name each server once, as in -t standalone,modelservice",
				"-t %q has an empty name, or one twice", text)
		}
	}
	return names, nil
}

// perServer returns the profiles for each server of --methods: all of the first server come first.
func perServer(c *cli.Context, v *contract.Invocation, list []contract.Rendered) ([]contract.Rendered, error) {
	names, err := serverNames(c)
	if err != nil || len(names) == 1 || len(v.Values(contract.Endpoint)) > 0 {
		return list, err
	}
	var all []contract.Rendered
	for _, name := range names {
		for _, r := range list {
			r.Server = name
			all = append(all, r)
		}
	}
	return all, nil
}

// find returns the server with a name, which is a value of --methods.
func (cmd runCommand) find(c *cli.Context, access *cluster.Cluster, name, model string) (*target.Target, error) {
	q := target.Query{Namespace: stackOf(c), Name: name, Model: model}
	if access == nil {
		return &target.Target{Query: q.Name, Kind: "mock", Name: q.Name, Namespace: q.Namespace, URLs: []string{mockURL}}, nil
	}
	return target.Find(c.Context, access, q)
}

// clockSlack is how far the clock of a node may be behind this machine's.
const clockSlack = time.Minute

// keepServers keeps the logs of the servers and the state of their namespace beside the results of a run, also of one
// that failed.
func (cmd runCommand) keepServers(c *cli.Context, access *cluster.Cluster, o launch.Options, t *target.Target,
	began time.Time) {
	if o.Wait == 0 || c.Context.Err() != nil {
		return // the run is not over, or the user does not wait
	}
	secrets := &secret.Redactor{}
	secrets.AddEnviron(os.Environ())
	snapshot.Take(c.Context, access, snapshot.Options{Namespace: stackOf(c), Target: t, Folder: o.Output,
		Since: began.Add(-clockSlack), Secrets: secrets, Notify: cmd.notify})
}

// writeTarget records which server was found.
func writeTarget(output string, t *target.Target) error {
	if t == nil {
		return nil
	}
	if err := os.MkdirAll(output, 0o700); err != nil {
		return fmt.Errorf("making the folder of the results: %w", err)
	}
	return atomicfile.WriteJSON(filepath.Join(output, targetFile), t)
}
