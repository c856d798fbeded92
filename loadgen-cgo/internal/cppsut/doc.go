// Package cppsut is support for the bridge's measurements: a system under test whose worker is a C++ thread, run
// against the same LoadGen. What the bridge and Go add to a query is the difference to it.
//
// Only tests of loadgen-cgo import it. In comes the size of a Server run, out come LoadGen's logs.
package cppsut
