package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// mostEnvironment bounds a file of an environment in bytes.
const mostEnvironment = 8 << 20

// ofShard returns the name of a file of the environment of shard i in a merged run.
func ofShard(i int, name string) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s/shard-%d/%s", record.EnvironmentFolder, i, filepath.Base(name))
}

// mergeEnvironments copies what the first shard captured, and the files of other shards that differ from it. It returns
// notes about files that cannot be read.
func mergeEnvironments(shards []Shard, output string) (notes []string, err error) {
	for _, name := range []string{record.MachineName, record.ServersName} {
		var first []byte
		for i, s := range shards {
			text, err := atomicfile.ReadBelow(s.Folder, name, mostEnvironment)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				notes = append(notes, fmt.Sprintf("shard %d: its environment is incomplete: %v", i, err))
				continue
			case i == 0:
				first = text
			case bytes.Equal(text, first):
				continue
			}
			path := filepath.Join(output, ofShard(i, name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return nil, err
			}
			if err := atomicfile.Private.WriteBytes(path, text); err != nil {
				return nil, err
			}
		}
	}
	return notes, nil
}

// environmentTables returns the machines of the client and the servers as the environment of a run describes them. Of
// several shards it has a row for each description, with the shards to which it applies.
func environmentTables(folder string, shards int) []report.Table {
	machines := report.Table{Title: "Machines of the client",
		Head: []string{"shards", "processor", "CPUs", "allowed", "memory", "system", "kernel", "GPUs"}}
	servers := report.Table{Title: "Servers", Head: []string{"shards", "server", "kind", "version", "Python packages"}}
	machines.Rows = described(folder, record.MachineName, shards, func(text []byte) [][]string {
		var m hostinfo.Machine
		if json.Unmarshal(text, &m) != nil {
			return nil
		}
		return [][]string{{m.CPUModel, fmt.Sprint(m.CPUs), fmt.Sprint(m.CPUsAllowed),
			fmt.Sprintf("%.1f GiB", float64(m.MemoryBytes)/(1<<30)), m.OS, m.Kernel, fmt.Sprint(len(m.GPUs))}}
	})
	servers.Rows = described(folder, record.ServersName, shards, func(text []byte) (rows [][]string) {
		var list []struct {
			URL, Server, Version string
			Packages             []string
		}
		if json.Unmarshal(text, &list) != nil {
			return nil
		}
		for _, s := range list[:min(len(list), mostParts)] {
			rows = append(rows, []string{s.URL, s.Server, s.Version, fmt.Sprint(len(s.Packages))})
		}
		return rows
	})
	var tables []report.Table
	for _, t := range []report.Table{machines, servers} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// described returns rows for a file of the environment and for the files of shards that differ from it. The first cell
// of each names the shards.
func described(folder, name string, shards int, read func([]byte) [][]string) (rows [][]string) {
	same, differing := []string{"0"}, [][]byte{}
	var numbers []string
	for i := 1; i < shards; i++ {
		text, err := atomicfile.ReadBelow(folder, ofShard(i, name), mostEnvironment)
		if err != nil {
			same = append(same, fmt.Sprint(i))
			continue
		}
		differing, numbers = append(differing, text), append(numbers, fmt.Sprint(i))
	}
	first, _ := atomicfile.ReadBelow(folder, name, mostEnvironment) // without it there is no row
	label := strings.Join(same, ", ")
	if shards < 2 {
		label = "-"
	}
	for i, text := range append([][]byte{first}, differing...) {
		if i > 0 {
			label = numbers[i-1]
		}
		for _, cells := range read(text) {
			for k := range cells {
				cells[k] = foreign.Line(cells[k], mostDetail)
			}
			rows = append(rows, append([]string{label}, cells...))
		}
	}
	return rows[:min(len(rows), mostParts)]
}
