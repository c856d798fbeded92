// Package convert converts data set files: it chooses the format, protects existing files, converts files without rows
// to rows, and writes the result and, for token ids, the file of prompt lengths.
//
//	done, err := convert.Job{From: []string{"in.pkl"}, To: "out.parquet", Options: datasets.ForRow(row)}.Run()
//
// Package datasets reads and writes the formats. The package imports datasets and internal/atomicfile.
package convert
