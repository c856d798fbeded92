// Package probe asks one endpoint what it is and what it honours, before the first query of a test.
//
// It owns the questions that are the same for every protocol: health, version, served models and one short answer. A
// protocol brings its wire and the steps of its own.
//
// In come an endpoint, a configuration and a sample, out goes a backends.Probe. Faults of the endpoint are
// *backends.EndpointError.
//
// It must not import any protocol.
package probe
