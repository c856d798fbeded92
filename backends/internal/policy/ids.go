package policy

import (
	"crypto/rand"
	"encoding/hex"
)

const (
	runDigits    = 20 // of an id: random, the same for all requests of one loop
	numberDigits = 12 // of an id: the number of the request
	// IDLength is the length of a request id. All ids have it, so that none is a prefix of another: SGLang aborts requests by
	// prefix (spec/backends.md §2.4).
	IDLength = runDigits + numberDigits
)

// RequestIDs makes the ids of requests: hexadecimal digits, 80 random bits and a counter. Two of them never make the same id, in
// one process or in several. Each attempt takes a new number.
type RequestIDs struct{ run [runDigits]byte }

// NewRequestIDs draws the random part.
func NewRequestIDs() RequestIDs {
	var random [runDigits / 2]byte
	_, _ = rand.Read(random[:]) // it never fails: crypto/rand ends the process instead
	var ids RequestIDs
	hex.Encode(ids.run[:], random[:])
	return ids
}

// Append appends the id of a request by its number.
func (r *RequestIDs) Append(dst []byte, number uint64) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, r.run[:]...)
	for shift := 4 * (numberDigits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, digits[number>>shift&15])
	}
	return dst
}
