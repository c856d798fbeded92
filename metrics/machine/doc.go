// Package machine reads the load of the client's machine, as a source of series that are recorded with the servers'
// metrics pages.
//
//	source := machine.Open("/")
//	known, values, err := source.Read() // shares since the reading before
//
// It reads /proc/stat and the process's own resource usage, nothing per request. Of the project it imports only
// metrics/exposition.
package machine
