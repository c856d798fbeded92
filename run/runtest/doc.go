// Package runtest makes records of runs for tests of what reads them: one that fits schema/run.schema.json, without a
// run.
//
//	r := runtest.Record("llama3.1-8b", models.Server, models.Performance)
//
// It must not be imported by anything but tests.
package runtest
