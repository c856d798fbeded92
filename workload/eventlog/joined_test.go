package eventlog

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// moved returns requests on a clock that is behind by some ns.
func moved(requests []Request, by int64) []Request {
	list := slices.Clone(requests)
	for i := range list {
		q := &list[i]
		for _, at := range q.times() {
			if *at != 0 {
				*at -= by
			}
		}
		q.Events = slices.Clone(q.Events)
		for k := range q.Events {
			q.Events[k].AtNS -= by
		}
	}
	return list
}

// join joins files whose clocks are ahead by 0, 1 s, 2 s and so on.
func join(t *testing.T, paths ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	j, err := Join(path, Header{ID: "joined", StartNS: start, Model: "m"})
	require.NoError(t, err)
	for i, p := range paths {
		end, err := j.Add(p, int64(i)*1e9, func(*Header, *Request) error { return nil })
		require.NoError(t, err)
		require.True(t, end.Complete)
	}
	require.NoError(t, j.Close(End{Complete: true}))
	return path
}

func TestJoined(t *testing.T) {
	requests := someRequests(4000)
	a, b, none := requests[:2000], requests[2000:], []Request(nil)
	paths := []string{write(t, a), write(t, none), write(t, b)}
	path := join(t, paths...)
	want := slices.Concat(a, moved(b, 2e9))
	got, end := read(t, path)
	require.Equal(t, want, got)
	require.Equal(t, &End{Complete: true, Requests: 4000}, end)
	header, _, err := First(path)
	require.NoError(t, err)
	require.Equal(t, &Header{Schema: Schema, ID: "joined", StartNS: start, Model: "m"}, header)

	// A joined file can be joined again.
	got, _ = read(t, join(t, paths[1], path))
	require.Equal(t, moved(want, 1e9), got)

	// A file that was cut has the requests of its whole blocks and no end, and so has one joined with it.
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	cut := filepath.Join(t.TempDir(), FileName)
	require.NoError(t, os.WriteFile(cut, data[:len(data)*9/10], 0o600))
	got, end = read(t, cut)
	require.Nil(t, end)
	require.Equal(t, want[:len(got)], got)
	require.Greater(t, len(got), len(a))
	again := filepath.Join(t.TempDir(), FileName)
	j, err := Join(again, Header{StartNS: start, Model: "m"})
	require.NoError(t, err)
	end, err = j.Add(cut, 0, func(*Header, *Request) error { return nil })
	require.NoError(t, err)
	require.Nil(t, end)
	require.NoError(t, j.Close(End{}))
	copied, _ := read(t, again)
	require.Equal(t, got, copied)
}

// Blocks are copied as they are.
func TestJoiningCopiesBlocks(t *testing.T) {
	path := write(t, someRequests(2000))
	joined, err := os.ReadFile(join(t, path))
	require.NoError(t, err)
	from, err := os.ReadFile(path)
	require.NoError(t, err)
	list := blocksOf(from)
	require.Greater(t, len(list), 3)
	for _, k := range list {
		require.True(t, bytes.Contains(joined, k))
	}
}

func blocksOf(data []byte) (list [][]byte) {
	s := newSource(bytes.NewReader(data), 0)
	for {
		var k block
		if s.next(&k) != nil || k.ended {
			return list
		}
		list = append(list, k.raw)
	}
}

// A section record comes after the header, and has nothing but a time.
func TestStraySections(t *testing.T) {
	data, err := os.ReadFile(write(t, someRequests(10)))
	require.NoError(t, err)
	at := bytes.Index(data, blocksOf(data)[0])
	section := appendRecord(nil, kindSection, make([]byte, sectionBytes))
	none := func(*Header, *Request) error { return nil }
	_, err = ReadFrom(bytes.NewReader(slices.Concat(section, data)), none)
	require.ErrorIs(t, err, errHeader)
	long := appendRecord(nil, kindSection, make([]byte, sectionBytes+1))
	_, err = ReadFrom(bytes.NewReader(slices.Concat(data[:at], long, data[at:])), none)
	require.ErrorIs(t, err, errRecord)
	section[len(section)-1]++
	_, err = ReadFrom(bytes.NewReader(slices.Concat(data[:at], section, data[at:])), none)
	require.ErrorIs(t, err, errRecord)
}

// A block of more than bigBlock bytes is decoded alone.
func TestBigBlocks(t *testing.T) {
	requests := someRequests(600)
	for _, i := range []int{0, 300, 301, 599} {
		q := &requests[i]
		q.Reason, q.FirstByteNS, q.Events = "", q.SentNS+1, nil
		for k := range int64(bigBlock / 3) {
			q.Events = append(q.Events, Event{q.SentNS + 2 + k*100_000, 1})
		}
	}
	path := write(t, requests)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(4*bigBlock))
	got, _ := read(t, path)
	require.Equal(t, requests, got)
}

// Each of several functions gets every request. The first error of any ends the reading.
func TestSeveralFunctions(t *testing.T) {
	requests := someRequests(4000)
	path := write(t, requests)
	var seen [3]int
	each := func(i int, most int) func(*Header, *Request) error {
		return func(_ *Header, r *Request) error {
			require.Equal(t, requests[seen[i]].EndNS, r.EndNS)
			if seen[i]++; seen[i] == most {
				return os.ErrInvalid
			}
			return nil
		}
	}
	end, err := Read(path, each(0, 0), each(1, 0), each(2, 0))
	require.NoError(t, err)
	require.EqualValues(t, len(requests), end.Requests)
	require.Equal(t, [3]int{4000, 4000, 4000}, seen)
	seen = [3]int{}
	_, err = Read(path, each(0, 0), each(1, 5), each(2, 0))
	require.ErrorIs(t, err, os.ErrInvalid)
	require.Equal(t, 5, seen[1])
}
