// Package needs checks the requirements of tests before they run, since tests may take hours.
//
//	s := &needs.Survey{Tests: plans, Scored: true, Environ: os.Environ()}
//	s.Servers, s.Refusal = run.PreflightOnly(ctx, plan, nil)
//	table := s.Table(ctx)
//	err := table.Err() // of the first row that is missing: an *exit.Error with exit code 2 or 3
//
// A row is a function that returns a Check: what was found, and what to do if the requirement is not met. The
// commands preflight, run and submission run show the same Table, and so does --dry-run. Load estimates how long a
// test takes.
//
// The package reads no flags, no environment and no terminal, and prints nothing. It must not import submission or cmd.
package needs
