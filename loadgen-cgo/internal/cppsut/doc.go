// Package cppsut supports measurements of the bridge. It contains a system under test whose worker is a C++ thread, and
// runs it against the same LoadGen. The cost of the bridge and Go is the difference between the two.
//
// Only tests of loadgen-cgo import it. Run does a Server run of a given size and writes LoadGen's logs.
package cppsut
