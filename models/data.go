package models

import (
	"cmp"
	"fmt"
	"strings"
)

// DataSource is the origin of a benchmark's data set (docs/reference/datasets.md#the-benchmarks-own-files).
type DataSource struct {
	// publisher and contents of the data set
	From string `yaml:"from"`
	// page that describes the files
	URL string `yaml:"url"`
	// licence, as the publisher states it
	Licence string `yaml:"licence"`
	// lines of a shell that download the files
	Fetch []string `yaml:"fetch"`
	// lines of a shell that make the data set from the files; empty: the files are used unchanged
	Prepare []string   `yaml:"prepare"`
	Files   []DataFile `yaml:"files"`
	Select  *Selection // which rows of a larger file the benchmark uses; nil: all rows
}

// Selection selects the rows that a benchmark uses of a larger file: the first rows of each subset. The selected rows
// are in alphabetical order of their subsets.
type Selection struct {
	Column  string         // name of the column with the subset's name
	Percent map[string]int // percent of each subset's rows, rounded down, at least one row; other subsets are omitted
	Whole   int            // subsets with at most this many rows are used completely
}

// Take returns how many of a subset's rows are used.
func (s *Selection) Take(subset string, rows int) int {
	percent, known := s.Percent[subset]
	switch {
	case !known:
		return 0
	case rows <= s.Whole:
		return rows
	}
	return max(1, rows*percent/100)
}

// DataFile is one official file of a data set.
type DataFile struct {
	// path relative to the download's folder
	Name string `yaml:"name" need:"yes"`
	// purpose of the file; empty: every test
	Use string `yaml:"use"`
	// file format, such as json, parquet or pickle
	Format string `yaml:"format"`
	// number of records; 0: not published
	Samples int `yaml:"samples" is:"1..2147483647"`
	// approximate size in bytes; 0: not published
	Bytes int64 `yaml:"bytes" is:">=1"`
	// SHA-256 of the unpacked file in lower-case hex; empty: not published
	SHA256 string `yaml:"sha256"`
}

// For returns the purpose of the file.
func (f *DataFile) For() string { return cmp.Or(f.Use, "every test") }

// Rows returns the number of records for display.
func (f *DataFile) Rows() string {
	if f.Samples == 0 {
		return unpublished
	}
	return Grouped(f.Samples)
}

// Size returns the approximate size for display.
func (f *DataFile) Size() string {
	if f.Bytes == 0 {
		return unpublished
	}
	return fmt.Sprintf("%d MB", (f.Bytes+5e5)/1e6)
}

// unpublished is shown for values that the publisher does not state.
const unpublished = "not stated"

// storage is the address of MLCommons' storage. Its downloader checks the MD5 sums published next to the files, and
// requires a login in the browser.
const (
	storage    = "https://inference.mlcommons-storage.org/"
	downloader = "https://raw.githubusercontent.com/mlcommons/r2-downloader/refs/heads/main/mlc-r2-downloader.sh"
)

// fromStorage returns the command of the benchmarks' READMEs that downloads a set from MLCommons' storage.
func fromStorage(set string) []string {
	return []string{"bash <(curl -s " + downloader + ") -d . " + storage + "metadata/" + set + ".uri"}
}

// Stored reports whether the files come from MLCommons' storage.
func (d *DataSource) Stored() bool {
	return len(d.Fetch) > 0 && strings.Contains(d.Fetch[0], storage)
}

// fromHub returns the command that downloads a revision of a data set from the Hugging Face hub.
func fromHub(name, revision, folder string) string {
	return "hf download " + name + " --repo-type dataset --revision " + revision + " --local-dir " + folder
}

// reference returns the page of a benchmark's reference implementation.
func reference(folder string) string {
	return "https://github.com/mlcommons/inference/tree/master/" + folder
}

// Formats of official files.
const (
	formatJSON    = "json"
	formatParquet = "parquet"
	formatPickle  = "pickle"
)
