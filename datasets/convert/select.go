package convert

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/mlperf-go/mlperf-go/datasets"
)

// maxRow is the maximum length of a row in bytes, as in package datasets.
const maxRow = 64 << 20

// choose replaces the rows, one JSON object per line, by those that the benchmark uses.
func (j Job) choose(rows *rowFiles) error {
	path := rows.paths[0]
	sizes := map[string]int{}
	err := eachRow(path, j.Select.Column, func(_ []byte, subset string) error {
		sizes[subset]++
		return nil
	})
	if err != nil {
		return err
	}
	left, kept := map[string]int{}, map[string][][]byte{}
	for subset, size := range sizes {
		left[subset] = j.Select.Take(subset, size)
	}
	err = eachRow(path, j.Select.Column, func(row []byte, subset string) error {
		if left[subset]--; left[subset] >= 0 {
			kept[subset] = append(kept[subset], slices.Clone(row))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(kept) == 0 {
		return &datasets.Error{Path: j.From[0], Field: j.Select.Column, Found: "no subset that the benchmark uses",
			Expected: "the benchmark's official file", Try: "name that file"}
	}
	rows.paths[0] = path + ".selected"
	return writeRows(rows.paths[0], kept)
}

// writeRows writes the rows of each subset, in the alphabetical order of the subsets.
func writeRows(path string, kept map[string][][]byte) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTemporary, err)
	}
	w := bufio.NewWriter(f)
	for _, subset := range slices.Sorted(maps.Keys(kept)) {
		for _, row := range kept[subset] {
			_, err := w.Write(append(row, '\n'))
			if err != nil {
				return errors.Join(fmt.Errorf("%w: %w", ErrTemporary, err), f.Close())
			}
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// eachRow calls take with every line of a file and the text in one of its columns.
func eachRow(path, column string, take func(row []byte, text string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTemporary, err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxRow)
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		var row map[string]json.RawMessage
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			return fmt.Errorf("%w: %w", ErrTemporary, err)
		}
		var text string
		if err := json.Unmarshal(row[column], &text); err != nil {
			text = "" // a row without the column belongs to no subset
		}
		if err := take(in.Bytes(), text); err != nil {
			return err
		}
	}
	return in.Err()
}
