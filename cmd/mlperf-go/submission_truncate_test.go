package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/submission/truncate"
)

// The line of a log that was not cut has one size.
func TestTruncatedLines(t *testing.T) {
	require.Equal(t, "truncated  a/log  99999 -> 8192 bytes",
		truncated(truncate.Target{Path: "a/log", State: truncate.Truncated, Before: 99999, After: 8192}))
	require.Equal(t, "hashed  a/log  779 bytes: too short to be cut",
		truncated(truncate.Target{Path: "a/log", State: truncate.Truncated, Before: 779, After: 779}))
	require.Equal(t, "refused  a/log  779 bytes, unchanged",
		truncated(truncate.Target{Path: "a/log", State: truncate.Refused, Before: 779, After: 779}))
}
