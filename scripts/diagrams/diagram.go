package main

import (
	"fmt"
	"strings"
)

// node is a box at a place of the grid; columns may be fractions.
type node struct {
	id          string
	col, row    float64
	title, text string
}

// group is a frame around boxes.
type group struct {
	title string
	nodes []string
}

// diagram is boxes on a grid, arrows between them, and frames around them.
type diagram struct {
	title  string
	nodes  []node
	groups []group
	edges  [][2]string
}

func (d *diagram) node(id string) (node, error) {
	for _, n := range d.nodes {
		if n.id == id {
			return n, nil
		}
	}
	return node{}, fmt.Errorf("unknown node %q", id)
}

// parse reads a description, one item a line:
//
//	title TEXT
//	node ID COLUMN ROW | TITLE | TEXT
//	group TITLE | ID ID ...
//	edge FROM TO
//
// Blank lines and lines that begin with # are skipped.
func parse(text string) (*diagram, error) {
	d := &diagram{}
	for i, line := range strings.Split(text, "\n") {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == "" || strings.HasPrefix(kind, "#") {
			continue
		}
		if err := d.add(kind, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return d, nil
}

func (d *diagram) add(kind, rest string) error {
	parts := strings.Split(rest, "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	switch {
	case kind == "title":
		d.title = rest
	case kind == "node" && len(parts) == 3:
		n := node{title: parts[1], text: parts[2]}
		if _, err := fmt.Sscan(parts[0], &n.id, &n.col, &n.row); err != nil {
			return fmt.Errorf("node: %w", err)
		}
		d.nodes = append(d.nodes, n)
	case kind == "group" && len(parts) == 2:
		d.groups = append(d.groups, group{parts[0], strings.Fields(parts[1])})
	case kind == "edge" && len(strings.Fields(rest)) == 2:
		d.edges = append(d.edges, [2]string(strings.Fields(rest)))
	default:
		return fmt.Errorf("cannot read %q", kind+" "+rest)
	}
	return nil
}
