// Package run runs one LoadGen test, from its plan to its record.
//
//	p, err := run.New(run.Settings{"model": "llama3.1-8b", "endpoint": "http://host:8000", ...})
//	if err != nil { ... } // an *Error with an exit code and a hint
//	record, err := run.Run(ctx, p, nil)
//	fmt.Println(record.Verdict, record.Reasons)
//
// Run checks the machine and the endpoints (Preflight), starts LoadGen, and reports Progress to an Observer. It then
// reads LoadGen's logs and writes the run's folder with the Record (run.json), whose verdict is stricter than
// LoadGen's. A process can run one test, because LoadGen keeps state.
//
// The supported API is Settings, New, Plan, Run, PreflightOnly, Preflight, Observer, Progress with its parts Failure
// and ServerSignals, Record, Verdict, ReadRecord, Error with its exit codes, Classify, which makes one of any error,
// and Interrupt. FromPlan, CheckFolder and CheckRoom serve the commands of this module. OpenProbes, OpenAssigned,
// ProbeClient, ProbeLoad and Probe are the client of packages tune, sweep and experiment. All these may change, like
// the packages run/plan, run/record, run/rehearse, run/score and run/exit.
//
// The package reads no flags, no environment and no terminal, and prints nothing. It must not import submission or cmd,
// nor package sim, which run/rehearse starts as a process.
package run
