// Package startup reports how long a server's start took and what it did meanwhile, from the server's own log.
//
//	r, err := startup.Parse("vllm.log", f, startup.Options{})
//
// Result and LDB return the documents of llm-d-benchmark's nop harness. Cycle makes a server log a sleep.
//
// A log's lines belong to processes. Each process has categories, such as model loading, which cover the time from
// its first relevant line to its last; gaps between them are "Uncategorized". The texts that mark a category are
// data (patterns.go): one table for each kind of server, with the versions that wrote them.
//
// Logs are untrusted: their size, their lines and their categories are bounded. The package prints nothing and imports
// nothing of this project.
package startup
