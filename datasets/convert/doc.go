// Package convert converts data set files: it chooses the format, protects existing files, makes rows of files without
// rows, and writes the result and the file of lengths that belongs to token ids.
//
//	done, err := convert.Job{From: []string{"in.pkl"}, To: "out.parquet", Options: datasets.ForRow(row)}.Run()
//
// Package datasets reads and writes the formats. The package imports datasets and internal/atomicfile.
package convert
