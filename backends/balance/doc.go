// Package balance chooses the endpoint of each query inside one shard.
//
// In come the number of endpoints and sample indices, out goes an endpoint's index; Done says that a request has left
// its endpoint. All balancers may be used from many goroutines. The package imports nothing of the project and knows
// nothing of HTTP.
package balance
