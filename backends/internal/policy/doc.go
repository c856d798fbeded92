// Package policy is what every HTTP client of this project decides alike: limits that Config leaves open, the fields of
// a request, which answers are refused, when an attempt is repeated, and the sentences of the record.
//
// In come a Config, statuses and header values; out go failure codes, waits and texts.
//
// It does no I/O, keeps no clock, and imports no client and no wire protocol.
package policy
