package eventlog

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const start = int64(1_700_000_000_000_000_000)

// made returns a request with random members.
func made(r *rand.Rand, seq int) Request {
	at := start + r.Int64N(1e12)
	q := Request{Seq: seq, Stage: r.IntN(3), Session: r.IntN(9), Turn: r.IntN(4), Group: r.IntN(3), DueNS: at,
		ReadyNS: at + r.Int64N(1000), SentNS: at + 5000, AskedInput: 100, AskedOutput: 20, InputTokens: 101,
		Endpoint: r.IntN(2), Finish: "length"}
	if r.IntN(5) == 0 {
		q.Reason, q.EndNS = "timeout_request", at+9e9
		return q
	}
	q.FirstByteNS = at + 1e6
	for range 1 + r.IntN(200) {
		at += r.Int64N(2e7)
		q.Events = append(q.Events, Event{at, 1 + r.IntN(2)*r.IntN(3)})
		q.OutputTokens += q.Events[len(q.Events)-1].Tokens
	}
	q.EndNS, q.VisibleNS, q.Cancelled = at+10, at-3, r.IntN(9) == 0
	return q
}

func write(t *testing.T, requests []Request) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	w, err := Create(path, Header{ID: "x", StartNS: start, Model: "m"})
	require.NoError(t, err)
	for i := range requests {
		require.NoError(t, w.Add(&requests[i]))
	}
	require.NoError(t, w.Close(End{Complete: true}))
	return path
}

func read(t *testing.T, path string) ([]Request, *End) {
	t.Helper()
	var list []Request
	end, err := Read(path, func(h *Header, r *Request) error {
		require.Equal(t, "m", h.Model)
		q := *r
		q.Events = append([]Event(nil), r.Events...)
		list = append(list, q)
		return nil
	})
	require.NoError(t, err)
	return list, end
}

func someRequests(n int) []Request {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]Request, n)
	for i := range list {
		list[i] = made(r, i)
	}
	return list
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	requests := someRequests(3000)
	got, end := read(t, write(t, requests))
	require.Equal(t, requests, got)
	require.Equal(t, &End{Complete: true, Requests: 3000}, end)
}

// A request needs few bytes, if it differs from the one before it only in its number and its times.
func TestRequestsAreShort(t *testing.T) {
	const n = 10_000
	list := make([]Request, n)
	for i := range list {
		at := start + int64(i)*7000
		list[i] = Request{Seq: i, AskedOutput: 8, OutputTokens: 8, DueNS: at, ReadyNS: at, SentNS: at + 20_000,
			FirstByteNS: at + 2e6, EndNS: at + 2e6 + 900, Events: []Event{{at + 2e6, 8}}, Finish: "length"}
	}
	path := write(t, list)
	file, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, file.Size(), int64(20*n))
	got, _ := read(t, path)
	require.Equal(t, list, got)
}

// Answers with more events than fit a batch of the reader are read completely, and so are their neighbours.
func TestLongAnswersAreRead(t *testing.T) {
	requests := someRequests(600)
	for _, i := range []int{0, 300, 301, 599} {
		q := &requests[i]
		q.Reason, q.FirstByteNS = "", q.SentNS+1
		q.Events = nil
		for k := range int64(batchEvents + 5) {
			q.Events = append(q.Events, Event{q.SentNS + 2 + k*1000, 1})
		}
	}
	got, _ := read(t, write(t, requests))
	require.Equal(t, requests, got)
}

// Reading ends with the first error of its function.
func TestReadingEndsWithAnError(t *testing.T) {
	path, n := write(t, someRequests(5000)), 0
	_, err := Read(path, func(*Header, *Request) error {
		if n++; n == 3 {
			return os.ErrInvalid
		}
		return nil
	})
	require.ErrorIs(t, err, os.ErrInvalid)
	require.Equal(t, 3, n)
}

func TestAFileIsNotOverwritten(t *testing.T) {
	path := write(t, nil)
	_, err := Create(path, Header{})
	require.ErrorIs(t, err, os.ErrExist)
}

// A file that was cut anywhere has the requests of its whole blocks and no end.
func TestCutFileIsReadAndMarked(t *testing.T) {
	requests := someRequests(5000)
	data, err := os.ReadFile(write(t, requests))
	require.NoError(t, err)
	seen := map[int]bool{}
	for _, share := range []float64{0.999, 0.7, 0.5, 0.2} {
		var got int
		end, err := ReadFrom(bytes.NewReader(data[:int(float64(len(data))*share)]), func(_ *Header, r *Request) error {
			require.Equal(t, requests[got].DueNS, r.DueNS)
			got++
			return nil
		})
		require.NoError(t, err)
		require.Nil(t, end, "the file says that it was cut")
		seen[got] = true
	}
	require.Greater(t, len(seen), 1, "how much is read depends on the cut")
	_, err = ReadFrom(bytes.NewReader(data[:3]), nil)
	require.ErrorContains(t, err, "does not begin with the header")
}

// A damaged byte causes an error or the end of the file, and never a wrong request.
func TestDamageIsDetected(t *testing.T) {
	requests := someRequests(500)
	data, err := os.ReadFile(write(t, requests))
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		bad := bytes.Clone(data)
		bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
		n := 0
		end, err := ReadFrom(bytes.NewReader(bad), func(_ *Header, q *Request) error {
			require.Equal(t, requests[n].EndNS, q.EndNS)
			n++
			return nil
		})
		if err == nil && end != nil {
			require.Equal(t, len(requests), n)
		}
	}
}

// An added request is on disk a second later, so that a killed program loses no more.
func TestRecordsReachTheDiskInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	w, err := Create(path, Header{StartNS: start, Model: "m"})
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close(End{})) }()
	q := someRequests(1)[0]
	require.NoError(t, w.Add(&q))
	require.Eventually(t, func() bool {
		list, end := read(t, path)
		return len(list) == 1 && end == nil
	}, 30*time.Second, 50*time.Millisecond)
}

// A full disk is an error of a later Add and of Close, and no call waits forever.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	w, err := Create(filepath.Join(t.TempDir(), FileName), Header{})
	require.NoError(t, err)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	w.mu.Lock()
	good := w.file
	w.file = full
	w.mu.Unlock()
	q := someRequests(1)[0]
	require.Eventually(t, func() bool { return w.Add(&q) != nil }, 30*time.Second, time.Millisecond)
	require.ErrorIs(t, w.Close(End{}), syscall.ENOSPC)
	require.NoError(t, good.Close())
}

// The memory of a writer and of a reader does not grow with the number of requests.
func TestMemoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	w, err := Create(path, Header{StartNS: start})
	require.NoError(t, err)
	q := Request{DueNS: start, EndNS: start + 1e9}
	for i := range 64 {
		q.Events = append(q.Events, Event{start + int64(i)*1e7, 1})
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const n = 200_000
	for i := range n {
		q.Seq = i
		require.NoError(t, w.Add(&q))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.NoError(t, w.Close(End{}))
	const room = 3 * holdAtMost // pending, and the part being written
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(room))
	got := 0
	_, err = Read(path, func(*Header, *Request) error { got++; return nil })
	require.NoError(t, err)
	require.Equal(t, n, got)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(room))
}

func FuzzReadFrom(f *testing.F) {
	w, err := Create(filepath.Join(f.TempDir(), FileName), Header{StartNS: start})
	require.NoError(f, err)
	for _, q := range someRequests(3) {
		require.NoError(f, w.Add(&q))
	}
	require.NoError(f, w.Close(End{}))
	data, err := os.ReadFile(w.file.Name())
	require.NoError(f, err)
	f.Add(data)
	f.Add(data[:len(data)/2])
	joined := filepath.Join(f.TempDir(), FileName)
	j, err := Join(joined, Header{StartNS: start})
	require.NoError(f, err)
	_, err = j.Add(w.file.Name(), 1000, func(*Header, *Request) error { return nil })
	require.NoError(f, err)
	require.NoError(f, j.Close(End{}))
	data, err = os.ReadFile(joined)
	require.NoError(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		_, _ = ReadFrom(bytes.NewReader(b), func(*Header, *Request) error { n++; return nil })
	})
}

func FuzzDecode(f *testing.F) {
	for _, q := range someRequests(3) {
		f.Add(appendRequest(nil, &q, &Request{}, start))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		last := Request{Seq: 7, OutputTokens: 3, DueNS: start + 5, EndNS: start + 9, Finish: "length", Slow: true}
		var q, again Request
		if (&cursor{b: b}).request(&q, &last, start) != nil {
			return
		}
		require.NoError(t, (&cursor{b: appendRequest(nil, &q, &last, start)}).request(&again, &last, start))
		require.Equal(t, q, again)
	})
}
