// Package official compares a fetched file with what the registry has about a benchmark's official files: their rows,
// columns and published hashes (models.DataSource).
//
//	result, err := official.Verify("cnn_eval.json", row)
//
// It opens no connection: the registry has the commands that fetch the files, and users run them.
//
// The package imports datasets and models.
package official
