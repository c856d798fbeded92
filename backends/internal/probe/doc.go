// Package probe asks one endpoint what it is and what it supports, before the first query of a test.
//
// A Prober contains the questions that all protocols share: health, version, served models and one short answer. A
// driver adds questions of its own as further steps. A fault of the endpoint is a *backends.EndpointError.
//
// It must not import a driver.
package probe
