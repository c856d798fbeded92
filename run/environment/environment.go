package environment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// clientMachine is machine.json: where the client ran (docs/reference/runs.md#environment).
type clientMachine struct {
	hostinfo.Machine
	Variables map[string]string `json:"variables"`
}

// serverFacts is one server in servers.json, as it describes itself.
type serverFacts struct {
	URL      string   `json:"url"`
	Server   string   `json:"server"`
	Version  string   `json:"version"`
	Models   []string `json:"models"`
	Packages []string `json:"packages"` // pip freeze; empty: the server does not show it
	Info     any      `json:"info"`     // everything that it reports; null: nothing
}

// Facts are what the folder describes, besides this machine.
type Facts struct {
	Access  atomicfile.Access
	Secrets *secret.Redactor
	Environ []string // variables of the process; a fixed list of them is kept
	Servers []*backends.Probe
}

// Write writes the folder environment/ in the folder of a run.
func Write(folder string, f *Facts) error {
	if err := f.Access.MakeOwnFolder(filepath.Join(folder, record.EnvironmentFolder)); err != nil {
		return err
	}
	machine := clientMachine{hostinfo.Describe(), hostinfo.Variables(f.Environ)}
	list := []serverFacts{}
	for _, e := range f.Servers {
		list = append(list, factsOf(e))
	}
	return cmp.Or(f.write(filepath.Join(folder, record.MachineName), machine),
		f.write(filepath.Join(folder, record.ServersName), list))
}

// write writes v as JSON without the secrets that its names or values show.
func (f *Facts) write(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return err
	}
	if text, err = f.Secrets.JSON(f.Secrets.Tree(tree)); err != nil {
		return fmt.Errorf("encoding %s as JSON: %w", path, err)
	}
	return f.Access.WriteJSON(path, json.RawMessage(text))
}

func factsOf(e *backends.Probe) serverFacts {
	f := serverFacts{URL: e.URL, Server: e.Server, Version: e.Version, Models: e.Models, Packages: []string{}}
	if json.Unmarshal(e.Info, &f.Info) != nil {
		f.Info = nil
		return f
	}
	f.Packages = packages(f.Info, 0)
	return f
}

// How deep the answer is searched for a list of packages, and how many packages are kept.
const (
	deepestPackages = 8
	mostPackages    = 5000
)

// packages returns the lines of the first field pip_packages of a server's answer. Such a field is the output of pip in
// the report of torch.utils.collect_env (docs/reference/runs.md#environment).
func packages(v any, depth int) []string {
	found := []string{}
	fields, ok := v.(map[string]any)
	if !ok || depth > deepestPackages {
		return found
	}
	if text, ok := fields["pip_packages"].(string); ok {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && len(found) < mostPackages {
				found = append(found, line)
			}
		}
		return found
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if found = packages(fields[name], depth+1); len(found) > 0 {
			break
		}
	}
	return found
}
