// Package audit prepares the test of an audit: it configures the test as the audit requires, and collects what the
// verification of its logs needs.
//
//	t, err := audit.Prepare(settings, audit.Options{Name: compliance.Test06})
//	r, err := run.Run(ctx, run.FromPlan(t.Plan), observer)
//	result, err := compliance.Verify(t.Input.Audit.Test, t.Input)
//
// It reads the data set, and finds mistakes before the test, which may take hours. It starts no test, prints nothing,
// and must not import submission or anything above it.
package audit
