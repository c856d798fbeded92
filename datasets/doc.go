// Package datasets reads, checks and makes the data sets that a test sends.
//
// It owns the formats (JSON in its four shapes, CSV, Parquet, .npy and Python pickles, plain or inside gzip or zstd;
// the content tells which), the conversion between them, the mapping of a benchmark's columns onto Sample, every check
// of a record, the figures about a data set, and the synthetic sets in a benchmark's own schema with their vocabulary.
// Every format's reader makes records of JSON text, so that one decoder and one validator see them all.
//
// In: a file and a schema (the columns of a models.Row), or samples made by Go code. Out: a *Dataset, whose slice
// position is LoadGen's sample index, or an *Error that names file, record, line and field.
//
// Files are foreign bytes: depth, record size, record count and the expansion of compressed files are bounded, and a
// file is read as a stream, so that memory holds the kept columns and one record (of Parquet, one page of each wanted
// column; of a pickle, all its values). A finished Dataset is read-only and may be read by any number of goroutines.
//
// The Parquet reader is our own because parquet-go v0.32.0, which writes our files, trusts a page's header: a gzip page
// of 33 KB whose header claims 64 bytes is unpacked to its full 32 MiB (so a page of 10 MB would take 10 GB), and files
// whose footer counts more, fewer or 2^60 rows are read without an error. TestParquetLies holds these cases.
//
// It imports models, tokenizer and internal/config (nearest names), and nothing that talks to a network or prints.
package datasets
