// Package campaign plans and runs every test of a benchmark for a submission, one after the other, each in a process of
// its own.
//
// New makes a Plan of the steps of each scenario (preflight, tune, performance, accuracy, score, audits) and their
// settings; Plan.Measure runs it, Plan.Preview and Plan.Script show it. The results are the runs' folders, in the
// layout of package layout, and campaign.json with the state and the settings of each step:
//
//	p, err := campaign.New(campaign.Options{Settings: settings, Division: "closed"})
//	outcomes, exit, err := p.Measure(ctx)
//
// A step is done when its folder holds a valid record of this test with these settings and intact logs. A campaign that
// dies therefore loses only the step that was running, and a lost campaign.json is rebuilt from the folders. Nothing is
// overwritten: the folder of a step that is run again is moved aside. One campaign at a time holds a folder, until the
// last of its processes has ended.
//
// The package starts processes and reads their results. It runs no test itself, prints nothing and must not import cmd.
package campaign
