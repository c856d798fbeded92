package record

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

// TestALostFileOnlyLowersAVerdict: a record that lacks one of its files is never VALID, and its verdict never improves.
func TestALostFileOnlyLowersAVerdict(t *testing.T) {
	for before, after := range map[Verdict]Verdict{Valid: Invalid, Invalid: Invalid, Interrupted: Interrupted} {
		r := &Record{Verdict: before, Reasons: []Cause{{Code: "first"}}}
		r.Lose(errors.New("the disk is full"))
		require.Equal(t, after, r.Verdict, "%s", before)
		require.Equal(t, []Cause{{Code: "first"}, {Code: CodeLogIncomplete,
			Text: "a log could not be written: the disk is full"}}, r.Reasons)
		require.Equal(t, exit.StatusEnvironment, r.ExitCode(), "%s", before)
	}
}

// The record of an audit states that LoadGen's verdict does not count; no other record does.
func TestAnAuditOverrulesLoadGensVerdict(t *testing.T) {
	audit := func(change func(r *Record)) string {
		r := &Record{Verdict: Valid, Files: map[string]string{AuditName: "0"}}
		r.LoadGen.Valid, r.LoadGen.Result = no(), map[string]any{"result_min_queries_met": true, "early_stopping_met": false,
			"result_min_duration_met": false}
		change(r)
		return r.Overruled()
	}
	require.Equal(t, "LoadGen's own summary reports INVALID (the minimum duration, early stopping): that does not count, "+
		"because an audit sets counts and "+
		"durations of its own and is judged by its verification", audit(func(*Record) {}))
	for _, change := range []func(r *Record){
		func(r *Record) { r.Files = nil },
		func(r *Record) { r.LoadGen.Valid = yes() },
		func(r *Record) { r.LoadGen.Valid = nil },
		func(r *Record) { r.Verdict = Invalid },
	} {
		require.Empty(t, audit(change))
	}
}
