// Package balance decides inside one shard which endpoint a query goes to, and when.
//
// It owns the strategies (balance.go), the limit of requests at one endpoint, the queries that wait for room (line.go),
// and the endpoints that are left out after failures until a connection to them comes about again (health.go).
//
// In come the number of endpoints, keys of queries and what became of attempts, out goes an endpoint's index. The
// caller brings the function that tries a connection.
//
// A Balancer and a Line belong to one shard and have no lock: one thread calls them at a time. Only the goroutines that
// try connections run beside it; they end with Close.
//
// The package imports internal/crash and nothing else of the project, and knows nothing of HTTP.
package balance
