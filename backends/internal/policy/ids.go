package policy

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
)

const (
	runDigits    = 20 // random, the same for all requests of one loop
	numberDigits = 12 // the number of the request
	// IDLength is the length of all request ids, so that no id is a prefix of another: SGLang aborts requests
	// by prefix (docs/reference/wire-protocols.md#aborted-requests).
	IDLength = runDigits + numberDigits
)

// RequestIDs creates the ids of requests: hexadecimal digits of 80 random bits and a counter. Two RequestIDs never
// create the same id, in one process or in several. Each attempt uses a new number.
type RequestIDs struct{ run [runDigits]byte }

// NewRequestIDs returns ids with a new random part.
func NewRequestIDs() RequestIDs {
	var random [runDigits / 2]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	var ids RequestIDs
	hex.Encode(ids.run[:], random[:])
	return ids
}

// Append appends the id of a request by its number.
func (r *RequestIDs) Append(dst []byte, number uint64) []byte {
	n := len(dst)
	dst = append(append(dst, r.run[:]...), "000000000000"...)
	for i := n + IDLength - 2; number > 0 && i >= n+runDigits; i -= 2 {
		pair := &pairs[number&0xff]
		dst[i], dst[i+1] = pair[0], pair[1]
		number >>= 8
	}
	return dst
}

// TraceHeader is the field of a request that makes the server's trace of it a part of the caller's.
const TraceHeader = "traceparent"

// AppendTrace appends the value of TraceHeader (W3C Trace Context: version, trace, span, flags). The trace has the
// request's id. The span is the sample's number, so that a server's trace leads to the sample. Its first bit is set,
// because the format forbids zero. The flag asks the server to record the trace.
func (r *RequestIDs) AppendTrace(dst []byte, number uint64, seq int) []byte {
	dst = append(r.Append(append(dst, "00-"...), number), '-')
	var span [8]byte
	binary.BigEndian.PutUint64(span[:], 1<<63|uint64(seq))
	return append(hex.AppendEncode(dst, span[:]), "-01"...)
}

// pairs are the bytes 0 to 255 as two hexadecimal digits each.
var pairs = func() (t [256][2]byte) {
	const digits = "0123456789abcdef"
	for i := range t {
		t[i] = [2]byte{digits[i>>4], digits[i&15]}
	}
	return t
}()
