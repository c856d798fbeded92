// Package jsontext writes pieces of JSON text onto a byte slice, as the readers of every format do.
//
// In: a slice, and a string, key or number. Out: the slice with its JSON text behind it. Bytes that are no UTF-8 pass
// as they are: whoever reads the text names them.
//
// It owns no state, reads nothing and imports nothing of the project.
package jsontext
