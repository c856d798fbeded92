package run

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestALostFileOnlyLowersAVerdict: a record that lacks one of its files is worth no more than before, and never VALID.
func TestALostFileOnlyLowersAVerdict(t *testing.T) {
	for before, after := range map[Verdict]Verdict{Valid: Invalid, Invalid: Invalid, Interrupted: Interrupted} {
		r := &Record{Verdict: before, Reasons: []Cause{{Code: "first"}}}
		r.lose(errors.New("the disk is full"))
		require.Equal(t, after, r.Verdict, "%s", before)
		require.Equal(t, []Cause{{Code: "first"}, {Code: "log_incomplete", Text: "a log could not be written: the disk is full"}}, r.Reasons)
		require.Equal(t, ExitEnvironment, r.ExitCode(), "%s", before)
	}
}
