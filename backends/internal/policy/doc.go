// Package policy contains the decisions that both HTTP clients share: default limits, the fields of a request, which
// answers are refused, when an attempt is repeated, and the sentences of the record.
//
// It does no I/O, reads no clock, and must not import a client or a wire protocol.
package policy
