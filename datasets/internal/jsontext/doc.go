// Package jsontext appends JSON text to a byte slice.
//
// AppendQuoted, AppendKey and AppendFloat append a string, an object's key and a number. Bytes that are not UTF-8 are
// copied unchanged; the reader of the text reports them. The package imports nothing of this project.
package jsontext
