package run

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFinishesAreBounded(t *testing.T) {
	var f finishes
	require.Empty(t, f.notes())
	for i := range maxFinishes + 3 {
		f.add(strconv.Itoa(i))
		f.add("0")
	}
	notes := f.notes()
	require.Len(t, notes, maxFinishes+1)
	require.Equal(t, `12 answers ended with finish_reason "0", which is unusual: counted as whole`,
		notes[0])
	require.Equal(t, "3 answers ended with further unusual finish reasons", notes[maxFinishes])
}

// An unknown finish reason does not fail the answer; the record notes it.
func TestAnUnusualFinishIsNoted(t *testing.T) {
	program(t)
	server := serveFaults(t, func(x *call) {
		x.raw(streamHead, strings.Replace(strings.Join(x.events(), ""), `"length"`, `"budget"`, 1), x.trailer())
	})
	r := faultRun(t, "calm", []string{server.url})
	r.isValid(t)
	struck := 0
	for _, e := range requestsOf(t, r).Entries {
		if (100+e.Index)%faultEvery == 0 {
			struck++
		}
	}
	require.Positive(t, struck)
	require.Contains(t, r.Notes, strconv.Itoa(struck)+
		` answers ended with finish_reason "budget", which is unusual: counted as whole`)
}
