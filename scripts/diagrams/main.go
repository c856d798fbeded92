package main

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/arch"
)

//go:embed query.txt
var query string

const folder = "docs/explanation"

func main() {
	files, err := draw(os.DirFS("."))
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "diagrams:", err)
		os.Exit(1)
	}
}

// draw returns the SVG files by name. root is the repository.
func draw(root fs.FS) (map[string]string, error) {
	way, err := parse(query)
	if err != nil {
		return nil, fmt.Errorf("query.txt: %w", err)
	}
	files := map[string]string{}
	if files["query.svg"], err = way.svg(layout{width: 250, height: 56, dx: 310, dy: 100}); err != nil {
		return nil, err
	}
	files["packages.svg"], err = packages(root).svg(layout{width: 150, height: 34, dx: 164, dy: 62})
	return files, err
}

// packages lays out the layers of internal/arch, the packages beside them below. Entries of the table whose folder
// does not exist yet are left out.
func packages(root fs.FS) *diagram {
	d := &diagram{title: "Packages: each layer imports layers below it only"}
	rows := slices.Clone(arch.Layers)
	var beside []string
	for name := range arch.Apart {
		beside = append(beside, name)
	}
	slices.Sort(beside)
	widest := 0
	for _, row := range append(rows, beside) {
		widest = max(widest, len(row))
	}
	y := 0.0
	for i, row := range append(rows, beside) {
		row = slices.DeleteFunc(slices.Clone(row), func(name string) bool {
			_, err := fs.Stat(root, name)
			return err != nil
		})
		if i == len(rows) {
			y += 0.6
			d.groups = append(d.groups, group{"beside the layers: see Apart in internal/arch/layers.go", row})
		}
		for j, name := range row {
			d.nodes = append(d.nodes, node{id: name, title: name, row: y,
				col: float64(widest-len(row))/2 + float64(j)})
		}
		y++
	}
	return d
}
