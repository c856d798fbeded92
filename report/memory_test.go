package report

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxPerRequest is the memory of a request between reading and drawing: its entry in a grown list, its scheduled time
// and its place on the time axis. A million requests then need less than 300 MB with the garbage.
const maxPerRequest = 200 // bytes

// TestMemoryPerRequest bounds what a report keeps of each request.
func TestMemoryPerRequest(t *testing.T) {
	held := func() uint64 {
		runtime.GC()
		runtime.GC() // the first collection only empties the pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const n = 30_000
	folder := folderOf(t, n)
	before := held()
	r, err := Read(folder)
	require.NoError(t, err)
	l := newTimeline(r)
	figures := r.figures(l)
	perRequest := (int64(held()) - int64(before)) / n
	require.NotEmpty(t, figures)
	require.LessOrEqual(t, perRequest, int64(maxPerRequest))
	require.Greater(t, perRequest, int64(50), "the log was not read")
	runtime.KeepAlive(l)
	runtime.KeepAlive(r)
}
