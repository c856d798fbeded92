// Package datasets reads, checks, converts and generates the data sets that a test sends.
//
// Open reads a file in JSON (array, lines, one object or columns), CSV, Parquet, .npy or Python pickle, plain or
// compressed with gzip or zstd, and recognizes the format by the content. Each reader produces records as JSON text, so
// that one decoder and one validator see them all. The decoder maps the columns of a benchmark (models.Row) onto
// Sample. The result is a Dataset, in which a sample's position is LoadGen's sample index, or an *Error that names the
// file, record, line and field.
//
//	d, err := datasets.Open("open_orca.jsonl", datasets.ForRow(row))
//
// Input files are untrusted: depth, record size, record count and the expansion of compressed files are limited. Files
// are streamed, so that memory holds the kept columns and one record (for Parquet, one page of each wanted column; for
// a pickle, all its values). A finished Dataset is read-only and safe for concurrent use.
//
// The package has its own Parquet reader because parquet-go v0.32.0, which writes our files, trusts page headers: it
// unpacks a gzip page of 33 KB whose header claims 64 bytes to the full 32 MiB (a page of 10 MB would take 10 GB), and
// reads files whose footer counts more, fewer or 2^60 rows without an error. TestParquetWithFalseSizes has these cases.
// Cost alone would not decide: 4,388 rows of 81 MB as JSON take 0.3 s of processor time and 38 MiB with this reader,
// 0.7 s and 42 MiB as parquet-go's generic rows with encoding/json.
//
// The package imports models, tokenizer and internal/config (nearest names), and nothing that uses the network or
// prints.
package datasets
