// Package balance chooses, within one shard, the endpoint of each query and when it may be sent.
//
// A Balancer has the strategies and the limit of requests at one endpoint, and excludes endpoints after failures until
// a connection to them succeeds again. A Line holds the queries that wait for an endpoint. Both belong to one shard and
// have no lock: one thread calls them at a time. Only the goroutines that try connections run beside it; Close ends
// them.
//
// The package imports internal/crash and nothing else of the project.
package balance
