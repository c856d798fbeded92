// Package foreign makes text that this program did not write safe to show: answers and headers of servers, names of
// models and versions, rows of data sets, names of files in other people's trees, logs of engines.
//
//	foreign.Line(body, 200)   // one line of at most 200 bytes, for a message
//	foreign.Lines(text, 4096) // several lines
//	foreign.Writer(os.Stdout) // everything that a command prints
//
// A control character, a character that is not shown and one that turns the direction of writing become \uXXXX, so that
// no text steers a terminal, hides a part of itself or begins a line that looks like this program's own. The escapes
// are JSON's: JSON stays the same JSON.
//
// It imports nothing of the project.
package foreign
