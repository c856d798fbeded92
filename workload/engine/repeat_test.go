package engine

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// varied is a source whose requests are those of a list.
type varied struct{ all []prompts.Request }

func (v *varied) Sessions() int                     { return len(v.all) }
func (v *varied) Conversations() int                { return 0 }
func (v *varied) Calls(int) ([]prompts.Call, error) { return []prompts.Call{{}}, nil }
func (v *varied) Request(n, _ int, r *prompts.Request) error {
	*r = v.all[n]
	return nil
}

// variants differ in one part each, as the parts of a body do.
func variants() []prompts.Request {
	all := make([]prompts.Request, 9)
	for i := range all {
		all[i] = prompts.Request{Text: "a text", System: "be kind", Output: 3}
	}
	all[1].Text = "other text"
	all[2].System = "be brief"
	all[3].Output = 4
	all[4].Model = "adapter"
	all[5].Tools = []byte(`[{"type":"function"}]`)
	all[6].Messages = []byte(`[{"role":"user","content":"more"}]`)
	all[7].Text, all[7].IDs = "", []int32{1, 2}
	all[8].Documents = []string{"one"}
	return all
}

// Each request has the body that an encoder makes of it alone, whichever requests were before it, and while the memory
// of those is used again.
func TestRepeatedBodies(t *testing.T) {
	for _, api := range []string{"chat", "completions"} {
		p := profileOf(profile.Stage{})
		p.API.Kind = api
		src, r := &varied{}, rand.New(rand.NewPCG(1, 2))
		for len(src.all) < 2000 {
			one := variants()[r.IntN(9)]
			if api == "chat" {
				one.IDs = nil
				one.Text = "a text"
			}
			for range 1 + r.IntN(3*shareAfter) {
				src.all = append(src.all, one)
			}
		}
		m, shared := makerOf(t, p, src, Part{}), 0
		var flying []*slot
		for n := range src.all {
			s := prepared(t, m, n, 0, n)
			if len(s.own) == 0 {
				shared++
			}
			flying = append(flying, s)
			if len(flying) > 50 { // one that another has overtaken ends
				at := r.IntN(len(flying))
				m.table.put(flying[at])
				flying = append(flying[:at], flying[at+1:]...)
			}
			one := flying[r.IntN(len(flying))]
			of := src.all[one.rec.Seq]
			want, err := m.Encoder.Append(nil, &of, nil)
			require.NoError(t, err)
			require.Equal(t, string(want), string(one.body), one.rec.Seq)
		}
		require.Greater(t, shared, len(src.all)/10)
	}
}

// Bodies are shared after several equal requests, in the same memory, and until the next one that differs.
func TestEqualRequestsShareABody(t *testing.T) {
	src := &varied{}
	for range 2 * shareAfter {
		src.all = append(src.all, variants()[0])
	}
	src.all = append(src.all, variants()[1], variants()[0], variants()[0])
	m := makerOf(t, profileOf(profile.Stage{}), src, Part{})
	places := map[*byte]int{}
	for n := range src.all {
		s := prepared(t, m, n, 0, n)
		require.Equal(t, n <= shareAfter || n >= 2*shareAfter, len(s.own) > 0, n)
		places[unsafe.SliceData(s.body)]++
	}
	require.Len(t, places, shareAfter+1+1+3)
}

// A request with a history does not repeat another: the history may have changed.
func TestHistoriesAreNotShared(t *testing.T) {
	src := &varied{}
	for range 3 * shareAfter {
		one := variants()[0]
		one.Plain = true // the text, without the history
		src.all = append(src.all, one)
	}
	m := makerOf(t, profileOf(profile.Stage{}), src, Part{})
	for n := range src.all {
		s, err := m.prepare(n, 0, n, &History{Text: string(rune('a'+n)) + `"`})
		require.NoError(t, err)
		require.Contains(t, string(s.body), `"prompt":"`+string(rune('a'+n))+`\"a text"`)
	}
}
