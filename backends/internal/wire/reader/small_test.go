package reader

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// An event of a batch belongs to the prompt whose number follows the request's id. Any other form proves nothing.
func TestNumberBehindTheID(t *testing.T) {
	for id, same := range map[string]bool{"": true, "other_4": true, "own": true, "own_": true, "own_3": true,
		"own_4": false, "own_03": true, "own_30": false, "own_000000003": true, "own_000000004": false, "own_0": false,
		"own_0000000004": true, "own-4": true, "own_/": true, "own_:": true, "own_4x": true, "x own_3": true,
		"x own_9": false} {
		for _, must := range []bool{false, true} {
			a := &Answer{}
			a.want.ID, a.want.Must = []byte("own"), must
			fits := a.checkNumber(&Event{ID: []byte(id), Index: 3})
			require.Equal(t, same || !must, fits, "%q, %v", id, must)
			require.Equal(t, !same, a.lacksName, "%q, %v", id, must)
			require.Equal(t, !fits, a.reason == backends.FailWrongAnswer, id)
		}
	}
	require.True(t, (&Answer{}).checkNumber(&Event{ID: []byte("own_4"), Index: 3}), "no id was sent")
}

func TestTruthValues(t *testing.T) {
	for text, want := range map[string][2]bool{"true": {true, true}, "false": {false, true}, "null": {false, true},
		"": {false, false}, "tru": {true, false}, "fals": {false, false}, "1": {false, false}, `"true"`: {false, false}} {
		s := &Scanner{B: []byte(text)}
		value := true
		ok := s.Bool(&value)
		require.Equal(t, want[1], ok, text)
		if ok {
			require.Equal(t, want[0], value, text)
			require.Equal(t, len(text), s.I, text)
		}
	}
}

// Errors of a server are any that are not empty, with their text.
func TestErrorsOfAServer(t *testing.T) {
	for text, is := range map[string]bool{"null": false, "[]": false, "{}": false, `""`: false, `["a"]`: true, `"a"`: true,
		`{"a":1}`: true} {
		e := &Event{}
		require.True(t, (&Scanner{B: []byte(text)}).Errors(e), text)
		require.Equal(t, is, e.IsError, text)
		if is {
			require.Equal(t, text, string(e.Message))
		}
	}
	require.False(t, (&Scanner{B: []byte("[")}).Errors(&Event{}))
}

// Texts that each begin with the previous one repeat all text if two events or sixteen bytes prove it.
func TestEvidenceOfRepeatedTexts(t *testing.T) {
	for _, c := range []struct {
		longer, evidence, texts int
		all, fails              bool
	}{{0, 0, 1, false, false}, {0, 0, 2, false, true}, {1, 15, 2, false, true}, {1, 16, 2, true, false},
		{2, 0, 2, true, false}, {2, 16, 1, false, false}} {
		a := &Answer{text: []byte("aab")}
		a.mode.longer, a.mode.evidence, a.mode.texts, a.mode.last = c.longer, c.evidence, c.texts, 2
		a.settleText()
		require.Equal(t, c.all, a.mode.repeats == repeatsAll, c)
		require.Equal(t, c.fails, a.reason == backends.FailBadEvent, c)
		require.Equal(t, map[bool]string{true: "ab", false: "aab"}[c.all], string(a.text), c)
	}
}
