// Package alarm wakes a thread that sleeps on file descriptors, after a given time or immediately. With it an event
// loop can sleep until its next query is due, so no additional thread has to issue the queries.
//
// It imports nothing of the project.
package alarm
