package trace

import (
	"io"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// manyLines is a file of BurstGPT lines, made while it is read. Rows come in pairs a millisecond apart, the later one
// first, and a second passes after every thousand.
type manyLines struct {
	rows, at int
	rest     []byte
}

func (m *manyLines) Read(p []byte) (int, error) {
	for len(m.rest) < len(p) && m.at < m.rows {
		if m.at == 0 {
			m.rest = append(m.rest, "Timestamp,Model,Request tokens,Response tokens\n"...)
		}
		ms := (m.at ^ 1) + m.at/1000*1000
		m.rest = strconv.AppendInt(m.rest, int64(ms/1000), 10)
		m.rest = append(m.rest, '.', byte('0'+ms/100%10), byte('0'+ms/10%10), byte('0'+ms%10))
		m.rest = append(m.rest, ",ChatGPT,"...)
		m.rest = strconv.AppendInt(m.rest, int64(m.at%1000), 10)
		m.rest = append(m.rest, ",7\n"...)
		m.at++
	}
	if len(m.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.rest)
	m.rest = m.rest[:copy(m.rest, m.rest[n:])]
	return n, nil
}

// TestTenMillionLines reads a long trace whose rows are out of order and have gaps. It takes 20 bytes for each row, and
// no more on the way.
func TestTenMillionLines(t *testing.T) {
	const rows = 10_000_000
	size, err := io.Copy(io.Discard, &manyLines{rows: rows})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := parse(&profile.TraceFile{Path: "many.csv", Format: "burstgpt"}, &manyLines{rows: rows}, size)
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Equal(t, rows, got.Len())
	require.True(t, slices.IsSorted(got.TimesNS))
	for _, i := range []int{0, 1, 999, 1000, rows - 1} {
		require.EqualValues(t, (i+i/1000*1000)*1e6, got.TimesNS[i], "row %d", i)
		require.EqualValues(t, (i^1)%1000, got.Input[i], "row %d", i)
	}
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(rows*25), "bytes")
}
