// Package campaign runs every test of a benchmark for a submission, one after the other, each in a process of its own.
//
// In comes a plan: the steps of each scenario (preflight, performance, accuracy, score, audits), what each is set to,
// and how its process is started. Out go the runs' folders, laid out as submission/layout says, and campaign.json,
// which tells what became of each step and what it was set to. A step counts as done by what its folder holds: a valid
// record, of this very test, with these settings and unharmed logs. So any kind of death costs the step that it met and
// no other, and a lost campaign.json is made again from the folders.
//
// Nothing is overwritten: the folder of a step that is done again is moved aside. One campaign at a time holds a
// folder, until the last of its processes has ended.
//
// The package starts processes and reads what they leave; it runs no test itself, prints nothing and must not import
// cmd.
package campaign
