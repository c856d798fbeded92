// Package official compares a downloaded file with the registry's facts about a benchmark's official files: rows,
// columns and published hashes (models.DataSource).
//
//	result, err := official.Verify("cnn_eval.json", row)
//
// It opens no connection: users run the registry's commands to download the files.
//
// The package imports datasets and models.
package official
