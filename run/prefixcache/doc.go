// Package prefixcache empties the prefix caches of servers before a test or a workload. The preflight, the warm-up or
// an earlier run has filled them, and cached prompts would be served faster than for other clients
// (docs/reference/wire-protocols.md#prefix-caches).
//
//	did, notes, err := prefixcache.Empty(ctx, "auto", driver, config)
//
// The record lists servers without a route for it as not_offered.
package prefixcache
