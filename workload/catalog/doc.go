// Package catalog finds workload profiles by harness and name: in folders of the user, and among the predefined ones.
//
//	f, err := catalog.Find("inference-perf", "sanity_random", "my-profiles")
//	p, err := f.Read(dialect.Options{})
//
// It also has the table of use cases. The package prints nothing and imports workload/dialect and configs/profiles.
package catalog
