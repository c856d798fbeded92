package eventlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestRequestsDescribeThemselves(t *testing.T) {
	none, some := &Request{}, &Request{EndNS: 9, Events: []Event{{3, 2}, {5, 1}, {8, 4}}}
	require.Equal(t, []int64{0, 0}, []int64{none.FirstNS(), none.LastNS()})
	require.Equal(t, []int64{3, 8}, []int64{some.FirstNS(), some.LastNS()})
	require.Equal(t, []int{0, 7}, []int{none.Streamed(), some.Streamed()})
	for ok, list := range map[bool][]Request{true: {*some, {EndNS: 1}, {EndNS: 1, Leaver: true, Slow: true}},
		false: {*none, {EndNS: 1, Reason: "x"}, {EndNS: 1, Cancelled: true}, {Reason: "x"}, {Cancelled: true}}} {
		for _, r := range list {
			require.Equal(t, ok, r.OK(), "%+v", r)
		}
	}
	for want, r := range map[bool]*Request{true: {Cancelled: true, Reason: "x"}, false: {Leaver: true}} {
		require.Equal(t, want, r.Ordinary())
	}
	require.False(t, (&Request{Slow: true}).Ordinary())
	require.False(t, (&Request{Slow: true, Leaver: true}).Ordinary())
}

// each calls a function with a request for each field that a record has, which alone is set.
func each(f func(name string, bits uint64, r Request)) {
	for i := range (&Request{}).numbers() {
		var r Request
		*r.numbers()[i] = 5
		f(fmt.Sprintf("number %d", i), 1<<i, r)
	}
	for i := range (&Request{}).times() {
		var r Request
		*r.times()[i] = start + 5
		f(fmt.Sprintf("time %d", i), timeBit<<i, r)
	}
	for name, r := range map[string]Request{"reason": {Reason: "x"}, "finish": {Finish: "x"},
		"cancelled": {Cancelled: true}, "leaver": {Leaver: true}, "slow": {Slow: true}, "cached": {HasCached: true}} {
		f(name, wordBit, r)
	}
	f("number in the plan", 0, Request{Seq: 5})
	f("events", 0, Request{Events: []Event{{start + 7, 1}, {start + 9, 0}, {start + 2, 300}}})
	f("nothing", 0, Request{})
}

// Each field has its own bit, is read unchanged after every other request, and is not mistaken for another.
func TestEachField(t *testing.T) {
	each(func(name string, bits uint64, r Request) {
		require.Equal(t, bits, r.differs(&Request{}), name)
		require.Equal(t, bits, (&Request{}).differs(&r), name)
		require.Zero(t, r.differs(&r), name)
		each(func(before string, _ uint64, last Request) {
			got := Request{Events: make([]Event, 4)}
			c := &cursor{b: appendRequest(nil, &r, &last, start)}
			require.NoError(t, c.request(&got, &last, start), "%s after %s", name, before)
			if len(r.Events) == 0 {
				require.Empty(t, got.Events)
				got.Events = nil
			}
			require.Equal(t, r, got, "%s after %s", name, before)
			require.Empty(t, c.b)
		})
	})
}

// The bytes of two requests by hand, from the description of appendRequest.
func TestBytesOfRequests(t *testing.T) {
	a := Request{Seq: 3, InputTokens: 7, DueNS: start + 2, EndNS: start + 300, Finish: "stop", Slow: true,
		Events: []Event{{start + 10, 1}, {start + 14, 2}}}
	b := a
	b.Seq, b.DueNS, b.FirstByteNS, b.Events = 2, start+6, start+100, []Event{{start + 101, 1}}
	got := appendRequest(nil, &a, &Request{}, start)
	want := binary.AppendUvarint(nil, 1|timeBit|timeBit<<6|wordBit)
	want = append(want, 6, 14, 4)                    // Seq +3, InputTokens +7, DueNS +2
	want = binary.AppendVarint(want, 298)            // EndNS after DueNS
	want = append(want, 2, 10<<1<<1, (4<<1|1)<<1, 2) // events: the first after the start, with a bit for a count
	want = append(want, "\x00\x04stop\x04"...)       // reason, finish, flags
	require.Equal(t, want, got)
	want = append(binary.AppendUvarint(nil, timeBit<<3), 1, 8) // FirstByteNS; Seq -1; DueNS +4 after that of a
	want = binary.AppendVarint(want, 94)
	want = binary.AppendVarint(want, 200)
	want = append(want, 1, 1<<1<<1)
	require.Equal(t, want, appendRequest(nil, &b, &a, start))
}

// Numbers at the ends of their ranges are read, and the next ones are faults.
func TestRangesOfNumbers(t *testing.T) {
	const largest, smallest = math.MaxInt32 * 1024, math.MinInt32
	for v, ok := range map[int]bool{0: true, largest: true, smallest: true, largest + 1: false, smallest - 1: false} {
		all := len((&Request{}).numbers())
		for i := range all + 1 {
			r, got := Request{}, Request{}
			if i == all {
				r.Seq = v
			} else {
				*r.numbers()[i] = v
			}
			err := (&cursor{b: appendRequest(nil, &r, &Request{}, start)}).request(&got, &Request{}, start)
			if ok {
				require.NoError(t, err, "%d of number %d", v, i)
				numbers := got.numbers()
				require.Equal(t, v, *append(numbers[:], &got.Seq)[i])
			} else {
				require.ErrorIs(t, err, errRecord, "%d of number %d", v, i)
			}
		}
	}
	for tokens, ok := range map[int]bool{0: true, 1: true, math.MaxInt32: true, math.MaxInt32 + 1: false} {
		r, got := Request{Events: []Event{{start, tokens}, {start, 1}}}, Request{}
		err := (&cursor{b: appendRequest(nil, &r, &Request{}, start)}).request(&got, &Request{}, start)
		require.Equal(t, ok, err == nil, "%d tokens", tokens)
		require.True(t, !ok || got.Events[0].Tokens == tokens && len(got.Events) == 2)
	}
	for bits, ok := range map[uint64]bool{wordBit: true, wordBit<<1 - 1: true, wordBit << 1: false} {
		body := append(binary.AppendUvarint(nil, bits), make([]byte, 30)...)
		require.Equal(t, ok, (&cursor{b: body}).request(&Request{}, &Request{}, start) == nil, "bits %x", bits)
	}
	for flags, ok := range map[byte]bool{15: true, 16: false} {
		body := append(binary.AppendUvarint(nil, wordBit), 0, 0, 0, 0, flags)
		require.Equal(t, ok, (&cursor{b: body}).request(&Request{}, &Request{}, start) == nil, "flags %d", flags)
	}
	// A text, and a list of events, is no longer than the rest of its block.
	for n, ok := range map[byte]bool{2: true, 3: true, 4: false} {
		c := &cursor{b: []byte{n, 'a', 'b', 'c'}}
		require.Equal(t, map[byte]string{2: "ab", 3: "abc"}[n], c.text(""))
		require.Equal(t, ok, !c.bad)
		body := append(binary.AppendUvarint(nil, 0), 0, n, 4, 4, 4)
		require.Equal(t, ok, (&cursor{b: body}).request(&Request{}, &Request{}, start) == nil, "%d events", n)
	}
}

// The quick forms of numbers equal those of encoding/binary, for every length and with any bytes behind them.
func TestNumbersOfEveryLength(t *testing.T) {
	for shift := range 64 {
		for _, v := range []uint64{1<<shift - 1, 1 << shift, 1<<shift + 1, math.MaxUint64 >> shift} {
			b := binary.AppendUvarint(nil, v)
			require.Equal(t, b, appendUint(nil, v))
			require.Equal(t, binary.AppendVarint(nil, int64(v)), appendInt(nil, int64(v)))
			require.Equal(t, binary.AppendVarint(nil, -int64(v)), appendInt(nil, -int64(v)))
			for behind := range 9 {
				c := &cursor{b: append(slices.Clone(b), bytes.Repeat([]byte{0xff}, behind)...)}
				require.Equal(t, v, c.number())
				require.Len(t, c.b, behind)
				require.False(t, c.bad)
			}
			if n := len(b); n > 1 {
				c := &cursor{b: b[:n-1]}
				require.Zero(t, c.number())
				require.True(t, c.bad)
				require.Empty(t, c.b, "no further bytes are read")
			}
		}
	}
	c := &cursor{b: bytes.Repeat([]byte{0x80}, 12)}
	require.Zero(t, c.number())
	require.True(t, c.bad, "longer than any number")
	for v, want := range map[uint64]uint64{6: 6, 7: 7, 8: 0} {
		c := &cursor{b: []byte{byte(v)}}
		require.Equal(t, want, c.atMost(7))
		require.Equal(t, v == 8, c.bad)
	}
}

// A short file that was cut at any byte has the requests of its whole blocks and no end; within its header it has none.
func TestCutAtEachByte(t *testing.T) {
	requests := someRequests(3)
	data, err := os.ReadFile(write(t, requests))
	require.NoError(t, err)
	first := blocksOf(data)[0]
	from := bytes.Index(data, first)
	for n := range len(data) {
		got := 0
		end, err := ReadFrom(bytes.NewReader(data[:n]), func(*Header, *Request) error { got++; return nil })
		require.Nil(t, end)
		if n < from {
			require.ErrorIs(t, err, errHeader, "%d bytes", n)
			continue
		}
		require.NoError(t, err, "%d bytes", n)
		require.Equal(t, n >= from+len(first), got == len(requests), "%d bytes", n)
		require.True(t, got == 0 || got == len(requests))
	}
}

// Records that a file must not have.
func TestWrongRecords(t *testing.T) {
	data, err := os.ReadFile(write(t, someRequests(3)))
	require.NoError(t, err)
	at := bytes.Index(data, blocksOf(data)[0])
	head, rest := data[:at], data[at:]
	record := func(kind byte, text string) []byte { return appendRecord(nil, kind, []byte(text)) }
	long := append(binary.AppendUvarint([]byte{kindRequests}, mostRecord+1), make([]byte, 9)...)
	endless := append([]byte{kindRequests}, bytes.Repeat([]byte{0x80}, 20)...)
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"nothing":                      {nil, errHeader},
		"no header":                    {rest, errHeader},
		"a header of another schema":   {slices.Concat(record(kindHeader, `{"schema":"x"}`), rest), errHeader},
		"a header without JSON":        {slices.Concat(record(kindHeader, `{`), rest), errHeader},
		"two headers":                  {slices.Concat(head, head, rest), errRecord},
		"an unknown kind":              {slices.Concat(head, record('x', ""), rest), errRecord},
		"a section of seven bytes":     {slices.Concat(head, record(kindSection, "1234567"), rest), errRecord},
		"a record longer than allowed": {slices.Concat(head, long), errRecord},
		"a length without an end":      {slices.Concat(head, endless), errRecord},
		"a request in pieces":          {slices.Concat(head, record(kindRequests, "\x00")), errRecord},
	} {
		_, err := ReadFrom(bytes.NewReader(c.file), func(*Header, *Request) error { return nil })
		require.ErrorIs(t, err, c.want, name)
	}
	_, err = ReadFrom(bytes.NewReader(slices.Concat(head, record(kindEnd, "{"))),
		func(*Header, *Request) error { return nil })
	require.ErrorContains(t, err, "JSON", "an end record that is damaged")
	most := append(binary.AppendUvarint([]byte{kindRequests}, mostRecord), make([]byte, 9)...)
	_, err = ReadFrom(bytes.NewReader(slices.Concat(head, most)), func(*Header, *Request) error { return nil })
	require.NoError(t, err, "the longest record, which was cut")
	for n := range len(data) {
		_, err = ReadFrom(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(os.ErrDeadlineExceeded)),
			func(*Header, *Request) error { return nil })
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "after %d bytes", n)
	}
}

// First has the header of the first request, the end of a file without any, and the fault of a file.
func TestFirst(t *testing.T) {
	header, end, err := First(write(t, someRequests(2)))
	require.NoError(t, err)
	require.Equal(t, "x", header.ID)
	require.Nil(t, end)
	header, end, err = First(write(t, nil))
	require.NoError(t, err)
	require.Nil(t, header)
	require.Equal(t, &End{Complete: true}, end)
	_, _, err = First(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	damaged := filepath.Join(t.TempDir(), "damaged")
	require.NoError(t, os.WriteFile(damaged, []byte("xxxxxxxxxxxxxxxx"), 0o600))
	_, _, err = First(damaged)
	require.ErrorIs(t, err, errHeader)
	require.ErrorContains(t, err, damaged)
}

// Blocks end soon after blockBytes, and batches at their bounds.
func TestSizesOfBlocks(t *testing.T) {
	data, err := os.ReadFile(write(t, someRequests(3000)))
	require.NoError(t, err)
	list := blocksOf(data)
	require.Greater(t, len(list), 2)
	for _, k := range list {
		require.Less(t, len(k), blockBytes+2000)
	}
	for want, b := range map[bool][]batch{
		true:  {{requests: make([]Request, 512)}, {arena: make([]Event, 1<<14)}},
		false: {{requests: make([]Request, 511), arena: make([]Event, 1<<14-1)}},
	} {
		for i := range b {
			require.Equal(t, want, b[i].isFull())
		}
	}
	cpus := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(cpus)
	_, _ = read(t, write(t, nil))
	require.Equal(t, 3, runtime.GOMAXPROCS(0), "reading changes no setting of the process")
}

// waits starts a writer whose disk is a full pipe, and returns when Add waits for it.
func waits(t *testing.T) (w *Writer, disk *os.File, added chan error) {
	t.Helper()
	w, err := Create(filepath.Join(t.TempDir(), FileName), Header{StartNS: start})
	require.NoError(t, err)
	disk, end, err := os.Pipe()
	require.NoError(t, err)
	w.mu.Lock()
	good := w.file
	w.file = end
	w.mu.Unlock()
	require.NoError(t, good.Close())
	added = make(chan error, 1)
	var q Request
	for i := range 50_000 {
		q.Events = append(q.Events, Event{start + int64(i)*1e6, 1})
	}
	go func() {
		for n := 0; n < 200; n++ { // of 150 kB
			q.Seq = n
			if err := w.Add(&q); err != nil {
				added <- err
				return
			}
		}
		added <- nil
	}()
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.pending) > holdAtMost
	}, time.Minute, time.Millisecond)
	select {
	case err := <-added:
		t.Fatal("Add did not wait", err)
	case <-time.After(20 * time.Millisecond):
	}
	return w, disk, added
}

// A slow disk makes Add wait, and loses nothing.
func TestSlowDisk(t *testing.T) {
	w, disk, added := waits(t)
	read := make(chan []byte)
	go func() {
		data, _ := io.ReadAll(disk)
		read <- data
	}()
	require.NoError(t, <-added)
	require.ErrorIs(t, w.Close(End{}), syscall.EINVAL, "a pipe cannot be synced")
	h := appendRecord(nil, kindHeader, []byte(`{"schema":"`+Schema+`"}`))
	n := 0
	end, err := ReadFrom(bytes.NewReader(append(h, <-read...)), func(_ *Header, r *Request) error {
		require.Equal(t, n, r.Seq)
		n++
		return nil
	})
	require.NoError(t, err)
	require.EqualValues(t, 200, end.Requests)
	require.Equal(t, 200, n)
	require.NoError(t, disk.Close())
}

// A disk that fails while Add waits ends the waiting.
func TestDiskFailsUnderAWaitingAdd(t *testing.T) {
	w, disk, added := waits(t)
	require.NoError(t, disk.Close())
	require.ErrorIs(t, <-added, syscall.EPIPE)
	require.ErrorIs(t, w.Close(End{}), syscall.EPIPE)
}

// Closing reports what the file reports, and a second Close is an error.
func TestClosing(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(filepath.Join(dir, "a"), Header{})
	require.NoError(t, err)
	require.NoError(t, w.Close(End{}))
	require.ErrorIs(t, w.Close(End{}), os.ErrClosed)
	j, err := Join(filepath.Join(dir, "b"), Header{})
	require.NoError(t, err)
	_, err = j.Add(filepath.Join(dir, "none"), 0)
	require.ErrorIs(t, err, os.ErrNotExist)
	path := write(t, someRequests(3))
	require.NoError(t, j.Close(End{}))
	_, err = j.Add(path, 0, func(*Header, *Request) error { return nil })
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, j.Close(End{}), os.ErrClosed)
	_, err = Join(path, Header{})
	require.ErrorIs(t, err, os.ErrExist)
}

// A header that cannot be written is an error, and no file stays open.
func TestHeaderThatDoesNotFit(t *testing.T) {
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	low := before
	low.Cur = 4
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &low))
	_, err := Create(filepath.Join(t.TempDir(), FileName), Header{})
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &before))
	require.ErrorIs(t, err, unix.EFBIG)
}
