// Package submission is a campaign: the tests of one benchmark, one after the other, each in a process of its own.
//
// In comes a list of steps and how to start one; out go the steps' folders and a table of what became of them. A step that
// is done and valid is skipped when the campaign is resumed. What a step's folder holds is read from its run.json alone, so
// that a crash of a child, or of the campaign, costs that step and no other.
//
// The package starts processes and reads records; it runs no test itself, prints nothing and must not import cmd.
package submission
