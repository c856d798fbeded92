package official

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/models"
)

// Result contains the findings of Verify about one file.
type Result struct {
	Path   string  `json:"path"`
	File   string  `json:"file"` // name of the official file; empty: no official file has this number of rows
	Checks []Check `json:"checks"`
}

// Check compares one property of the file.
type Check struct {
	Name     string `json:"name"`
	Found    string `json:"found"`
	Expected string `json:"expected"`
	OK       bool   `json:"ok"` // also true if there is no published value to compare with
}

// OK reports whether no check failed.
func (r *Result) OK() bool {
	return !slices.ContainsFunc(r.Checks, func(c Check) bool { return !c.OK })
}

func (r *Result) add(name, found, expected string, ok bool) {
	r.Checks = append(r.Checks, Check{name, found, expected, ok})
}

// ErrNone reports that no official file of a benchmark is known.
var ErrNone = errors.New("no official file is known")

// Verify compares the file at path with the row's official file of the same name. If no name matches, it uses the only
// official file, or the first one with the same number of rows. An error means that the file could not be compared.
func Verify(path string, row *models.Row) (*Result, error) {
	if len(row.Data.Files) == 0 {
		return nil, fmt.Errorf("%w for %s", ErrNone, row.Name)
	}
	o := datasets.ForRow(row)
	o.SizesOnly, o.Keep = true, scored(row)
	d, err := datasets.Open(path, o)
	r := &Result{Path: path}
	if err != nil {
		if fault := (*datasets.Error)(nil); !errors.As(err, &fault) || fault.Record == 0 {
			return nil, err
		}
		r.add("content", err.Error(), "records with the columns of "+row.Name, false)
		return r, nil
	}
	if datasets.Synthetic(d) {
		r.add("origin", "a synthetic set of mlperf-go", "the official rows", false)
	}
	file := identify(path, len(d.Samples), row.Data.Files)
	if file == nil {
		r.add("rows", models.Grouped(len(d.Samples)), expectedRows(row.Data.Files), false)
		return r, nil
	}
	r.File = file.Name
	r.addRows(len(d.Samples), file)
	r.addColumns(d, o.Keep)
	return r, r.addHash(path, d, file)
}

// Rows describes how many of a benchmark's rows a file has, such as "512 of 13,368 rows".
func Rows(found int, row *models.Row) string {
	whole, use := row.DatasetSamples, ""
	for _, f := range row.Data.Files {
		if f.Samples == found {
			whole = found
			if f.Use != "" {
				use = ", those for " + f.Use
			}
		}
	}
	switch {
	case whole == 0:
		return models.Grouped(found) + " " + plural.Word(found, "row", "rows")
	case found > whole:
		return fmt.Sprintf("%s rows, more than the benchmark's %s", models.Grouped(found), models.Grouped(whole))
	}
	return fmt.Sprintf("%s of %s rows%s", models.Grouped(found), models.Grouped(whole), use)
}

// scored returns the columns that scoring reads in the official files.
func scored(row *models.Row) []string {
	return slices.DeleteFunc(row.Scoring.Columns.Names(),
		func(name string) bool { return name == row.Scoring.Columns.Tests })
}

// identify returns the official file with the same name, else the only official file, else the first with the same
// number of rows, else nil.
func identify(path string, rows int, files []models.DataFile) *models.DataFile {
	base := unpackedName(path)
	for i := range files {
		if unpackedName(files[i].Name) == base {
			return &files[i]
		}
	}
	for i := range files {
		if files[i].Samples == rows || len(files) == 1 {
			return &files[i]
		}
	}
	return nil
}

// unpackedName returns the last element of a path without a compression suffix.
func unpackedName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".zst")
}

// expectedRows lists the numbers of rows of official files.
func expectedRows(files []models.DataFile) string {
	var parts []string
	for _, f := range files {
		if f.Samples > 0 {
			parts = append(parts, models.Grouped(f.Samples)+" ("+f.Name+")")
		}
	}
	return strings.Join(parts, ", ")
}

func (r *Result) addRows(found int, file *models.DataFile) {
	if file.Samples == 0 {
		r.add("rows", models.Grouped(found), "", true)
		return
	}
	r.add("rows", models.Grouped(found), models.Grouped(file.Samples), found == file.Samples)
}

// addColumns requires a value in at least one record for each column that scoring reads. The reader has already checked
// the other columns.
func (r *Result) addColumns(d *datasets.Dataset, names []string) {
	var missing []string
	for i, name := range names {
		if !slices.ContainsFunc(d.Samples, func(s datasets.Sample) bool { return i < len(s.Kept) && s.Kept[i] != "" }) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		r.add("columns", "no value in "+strings.Join(missing, ", "), "the columns that scoring reads", false)
		return
	}
	r.add("columns", "those that requests and scoring need", "those that requests and scoring need", true)
}

// addHash compares the hash of the unpacked file.
func (r *Result) addHash(path string, d *datasets.Dataset, file *models.DataFile) error {
	if file.SHA256 == "" {
		r.add("sha256", d.SHA256, "", true)
		return nil
	}
	sum, err := datasets.UnpackedSHA256(path)
	if err != nil {
		return err
	}
	r.add("sha256", sum, file.SHA256, sum == file.SHA256)
	return nil
}
