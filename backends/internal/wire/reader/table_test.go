package reader

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	bitIndex Keys = 1 << iota
	bitFinish
	bitCounts
)

var countsTable = NewTable(On("prompt", 0, (*Scanner).Prompt), On("produced", bitIndex, (*Scanner).Produced))

var answerTable = NewTable(
	On("index", bitIndex, (*Scanner).Index),
	On("finish", bitFinish, (*Scanner).Finish),
	On("end", bitFinish, (*Scanner).Finish), // excludes finish
	On("counts", bitCounts, func(s *Scanner, e *Event) bool { return countsTable.Value(s, s, e) }),
)

func TestTable(t *testing.T) {
	for doc, want := range map[string]struct {
		seen Keys
		ok   bool
	}{
		`{}`:                               {0, true},
		`{"index":3}`:                      {bitIndex, true},
		`{"other":{"index":9},"index":3}`:  {bitIndex, true},
		` { "finish" : "a" , "index" : 3}`: {bitIndex | bitFinish, true},
		`{"index":3,"finish":"a","x":null,"counts":{"produced":5,"prompt":1,"prompt":2}}`: {bitIndex | bitFinish | bitCounts,
			true},
		`{"counts":null,"index":3}`:   {bitIndex | bitCounts, true},
		`{"index":3,"index":3}`:       {0, false},
		`{"finish":"a","end":"b"}`:    {0, false},
		`{"inde\u0078":3}`:            {0, false},
		`{"index":"3"}`:               {0, false},
		`{"counts":5}`:                {0, false},
		`{"index":3`:                  {0, false},
		`{"index":3,}`:                {0, false},
		`{"index":3,"finish":`:        {0, false},
		`{,"index":3}`:                {0, false},
		`{"index":3"finish":"a"}`:     {0, false},
		`{"index": 3 , "finish":"a"}`: {bitIndex | bitFinish, true},
		`{"counts":{},"finish":"a"}}`: {bitCounts | bitFinish, true}, // what follows is the caller's
	} {
		var s Scanner
		var e Event
		s.Start([]byte(doc))
		s.Blank()
		require.True(t, s.Open('{'))
		seen, ok := answerTable.Walk(&s, &s, &e)
		require.Equal(t, want, struct {
			seen Keys
			ok   bool
		}{seen, ok}, doc)
		if ok && seen&bitIndex != 0 {
			require.Equal(t, int64(3), e.Index, doc)
		}
	}
}

func TestTableResumesBehindAValue(t *testing.T) {
	var s Scanner
	var e Event
	s.Start([]byte(`,"finish":"a"}`))
	seen, ok := answerTable.Resume(&s, &s, &e, bitIndex)
	require.True(t, ok)
	require.Equal(t, bitIndex|bitFinish, seen)
	s.Start([]byte(`,"index":3}`))
	_, ok = answerTable.Resume(&s, &s, &e, bitIndex)
	require.False(t, ok, "a key that came before the place")
}
