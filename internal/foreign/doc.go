// Package foreign makes text from outside the program safe to show: answers and headers of servers, names of models and
// versions, rows of data sets, file names in other people's trees, logs of engines.
//
//	foreign.Line(body, 200)   // one line of at most 200 bytes, for a message
//	foreign.Lines(text, 4096) // several lines
//	foreign.Writer(os.Stdout) // everything that a command prints
//	foreign.Kind(head)        // "HTML or XML", of a file that should be data
//
// It escapes control characters, invisible characters and those that change the writing direction as \uXXXX. Escaped
// text cannot steer a terminal, hide a part of itself or start a line that looks like the program's own output. The
// escapes are JSON's, so JSON keeps its meaning.
//
// It imports nothing of the project.
package foreign
