// Package brotli replaces parquet-go's package of the same name in a release (scripts/release.sh). The program rejects
// columns that are compressed with brotli before it reads them (datasets, docs/reference/datasets.md), but parquet-go's
// table of codecs refers to that package and so to a library of 0.9 MB.
//
// It has what that table and parquet-go's tags use, and every call fails.
package brotli
