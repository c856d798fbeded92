package engine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// repeatedData are kinds of data, and how many different requests each has in the test.
func repeatedData(t *testing.T) map[string]profile.Data {
	t.Helper()
	path := filepath.Join(t.TempDir(), "texts.jsonl")
	var lines strings.Builder
	for i := range 5 {
		answer := strings.Repeat("word ", i+1)
		fmt.Fprintf(&lines, "{\"prompt\":\"text %d with \\\"quotes\\\"\",\"answer\":\"%s\"}\n", i, answer)
	}
	require.NoError(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	varied := &profile.Distribution{Kind: "uniform", Min: 1, Max: 100}
	return map[string]profile.Data{
		"file":           {Kind: profile.Prompts, Path: path, Output: profile.FixedAt(3)},
		"file, answers":  {Kind: profile.Prompts, Path: path},
		"fixed":          {Kind: profile.Fixed, Text: "a text", Output: profile.FixedAt(3)},
		"fixed, rows":    {Kind: profile.Fixed, Text: "a text", Output: profile.FixedAt(3), Rows: 4},
		"fixed, lengths": {Kind: profile.Fixed, Text: "a text", Output: varied, Rows: 4},
		"ids":            {Kind: profile.Random, Input: varied, Output: varied, Rows: 3},
		"synthetic":      {Kind: profile.Synthetic, Input: varied, Output: varied, Rows: 3},
		"groups": {Kind: profile.SharedPrefix, Output: varied,
			Groups: &profile.Groups{Count: 2, Users: 3, System: profile.FixedAt(9), Question: varied}},
	}
}

// Each request has the body that an encoder makes of it alone, no matter which requests came before it. The memory of
// those is used again meanwhile.
func TestRowsHaveTheirBodies(t *testing.T) {
	for name, data := range repeatedData(t) {
		t.Run(name, func(t *testing.T) {
			p, r := profileOf(profile.Stage{}), rand.New(rand.NewPCG(1, 2))
			p.API.Kind, p.Data = "completions", data
			src, err := prompts.Open(p, prompts.Options{})
			require.NoError(t, err)
			m, shared := makerOf(t, p, src, Part{}), 0
			var flying []*slot
			for n := range 200 {
				s := prepared(t, m, n, 0, n)
				if len(s.own) == 0 {
					shared++
				}
				if flying = append(flying, s); len(flying) > 20 { // one that another has overtaken ends
					at := r.IntN(len(flying))
					m.table.put(flying[at])
					flying = append(flying[:at], flying[at+1:]...)
				}
				one := flying[r.IntN(len(flying))]
				var of prompts.Request
				require.NoError(t, src.Request(one.rec.Seq, 0, &of))
				want, err := m.Encoder.Append(nil, &of, nil)
				require.NoError(t, err)
				require.Equal(t, string(want), string(one.body), one.rec.Seq)
				require.Equal(t, []int{of.Input, of.Output, of.Group},
					[]int{one.rec.AskedInput, one.rec.AskedOutput, one.rec.Group})
			}
			require.Greater(t, shared, 150)
		})
	}
}

// The third request of a row is the first one that shares its body, so rows that come once or twice leave no memory.
func TestThirdRequestSharesABody(t *testing.T) {
	p := profileOf(profile.Stage{})
	p.API.Kind, p.Data = "completions", repeatedData(t)["file"]
	src, err := prompts.Open(p, prompts.Options{})
	require.NoError(t, err)
	m := makerOf(t, p, src, Part{})
	places := map[*byte]bool{}
	for n := range 20 {
		s := prepared(t, m, n, 0, n)
		require.Equal(t, n < 2*5, len(s.own) > 0, n)
		if n >= 2*5 {
			places[unsafe.SliceData(s.body)] = true
		}
	}
	require.Len(t, places, 5)
}

// Adapters and classes differ between the requests of a row.
func TestDrawnModelsAreNotShared(t *testing.T) {
	for _, with := range []func(*profile.API){
		func(a *profile.API) {
			a.Adapters = []profile.Adapter{{Name: "one", Share: 0.5}, {Name: "two", Share: 0.5}}
		},
		func(a *profile.API) {
			a.Classes = []profile.Class{{Priority: 1, Share: 0.5}, {Priority: 2, Share: 0.5}}
		},
	} {
		p := profileOf(profile.Stage{})
		p.API.Kind, p.Data = "completions", repeatedData(t)["fixed"]
		with(&p.API)
		src, err := prompts.Open(p, prompts.Options{})
		require.NoError(t, err)
		m, bodies := makerOf(t, p, src, Part{}), map[string]bool{}
		for n := range 40 {
			bodies[string(prepared(t, m, n, 0, n).body)] = true
		}
		require.Len(t, bodies, 2)
	}
}

// The memory of the bodies is bounded, and so is the number of rows.
func TestKeptBodiesAreBounded(t *testing.T) {
	r := rows{count: 10 * keptRows, bytes: keptBytes - 5}
	s := &slot{body: []byte("four")}
	for _, session := range []int{0, 1, keptRows - 1, 10*keptRows + 1} {
		for range 3 {
			r.learn(r.of(session), s)
		}
	}
	require.Len(t, r.list, keptRows)
	require.Equal(t, keptBytes-1, r.bytes, "of one body")
	require.True(t, r.of(0).fill(&slot{}))
	for _, session := range []int{1, keptRows - 1} {
		require.False(t, r.of(session).fill(&slot{}), session)
	}
	require.Nil(t, r.of(keptRows))
	require.Nil(t, r.of(11*keptRows))
	require.Nil(t, (&rows{}).of(0), "the source repeats nothing")
}
