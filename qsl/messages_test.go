package qsl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/spill"
	"github.com/mlperf-go/mlperf-go/models"
)

// withMessages reads rows with messages of about size bytes into a store. It also returns the expected messages of each
// row.
func withMessages(t require.TestingT, dir string, rows, size int, limit int64) (d *datasets.Dataset,
	messages []string) {
	var file bytes.Buffer
	for i := range rows {
		messages = append(messages, fmt.Sprintf(`[{"role":"user","content":"%d %s"}]`, i,
			strings.Repeat(string(rune('a'+i%26)), size)))
		fmt.Fprintf(&file, `{"messages":%s}`+"\n", messages[i])
	}
	path := filepath.Join(dir, "set.jsonl")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o644))
	d, err := datasets.Open(path, datasets.Options{Schema: "chat", Store: spill.New(limit, dir),
		Columns: []models.Column{{Name: "messages", Type: "messages", Role: "messages", Required: true}}})
	require.NoError(t, err)
	return d, messages
}

// around encodes a request that contains the messages unchanged.
func around(dst []byte, s *datasets.Sample) ([]byte, error) {
	return fmt.Appendf(dst, "POST / HTTP/1.1\r\n\r\n{\"messages\":%s,\"n\":1}", s.Messages), nil
}

// For a data set of images, messages and requests together take no more space than the requests alone, in memory and in
// the file.
func TestMessagesAreHeldOnce(t *testing.T) {
	const rows, size, limit = 400, 100_000, 24 << 20
	d, messages := withMessages(t, t.TempDir(), rows, size, limit)
	defer func() { require.NoError(t, d.Store.Close()) }()
	encoded := 0
	l := library(t, Options{Dataset: d, Store: d.Store.(*spill.Store),
		Encode: func(dst []byte, s *datasets.Sample) ([]byte, error) {
			encoded++
			return around(dst, s)
		}})
	var shuffled []int
	for i := range rows {
		shuffled = append(shuffled, i*7%rows)
	}
	for range 3 {
		require.NoError(t, l.Load(shuffled))
		require.Equal(t, rows, encoded, "a request that stays is built once")
		total := l.Bytes()
		require.Greater(t, total, int64(rows*size))
		held := sizes(t, l)
		require.LessOrEqual(t, held.Memory, int64(limit))
		require.Less(t, held.Memory+held.Disk, total+40<<20,
			"a file's block of 32 MiB and two of memory may be filled in part")
		for i, m := range messages {
			require.Equal(t, m, string(d.Samples[i].Messages))
			require.Contains(t, string(l.Request(i)), m)
		}
		require.NoError(t, l.Unload(shuffled))
		require.Nil(t, l.Request(3))
		require.Zero(t, l.Bytes())
		require.Zero(t, l.Loaded())
	}
	require.True(t, l.Spilled())
	require.Less(t, l.ScratchBytes(), int64(rows*size*2-limit), "both would take so much")

	// A second library finds the messages inside the first library's requests, and must not change those.
	second := library(t, Options{Dataset: d, Store: d.Store.(*spill.Store), Encode: around})
	require.NoError(t, second.Load([]int{5}))
	require.NoError(t, second.Unload([]int{5}))
	require.Equal(t, messages[5], string(d.Samples[5].Messages))
	require.NoError(t, l.Load([]int{5}))
	require.Contains(t, string(l.Request(5)), messages[5])
	require.NoError(t, l.Close())
}

// TestMessagesProperty loads and unloads at random, with requests that contain the messages unchanged and requests that
// do not.
func TestMessagesProperty(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 8).Draw(t, "rows")
		d, messages := withMessages(t, dir, rows, rapid.IntRange(1, 2000).Draw(t, "size"),
			rapid.Int64Range(1, 20_000).Draw(t, "limit"))
		defer d.Store.Close()
		verbatim := rapid.Bool().Draw(t, "verbatim")
		encode := func(dst []byte, s *datasets.Sample) ([]byte, error) {
			if verbatim || s.Index%2 == 0 {
				return around(dst, s)
			}
			return append(dst, bytes.ToUpper(s.Messages)...), nil
		}
		l := library(t, Options{Dataset: d, Store: d.Store.(*spill.Store), Encode: encode})
		refs := make([]int, rows)
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			i := rapid.IntRange(0, rows-1).Draw(t, "row")
			if load := rapid.Bool().Draw(t, "load"); load {
				require.NoError(t, l.Load([]int{i}))
				refs[i]++
			} else {
				require.Equal(t, refs[i] > 0, l.Unload([]int{i}) == nil)
				refs[i] = max(refs[i]-1, 0)
			}
			for i, m := range messages {
				require.Equal(t, m, string(d.Samples[i].Messages))
				want, _ := encode(nil, &datasets.Sample{Index: i, Messages: json.RawMessage(m)})
				if refs[i] == 0 {
					want = nil
				}
				require.Equal(t, want, l.Request(i))
			}
		}
	})
}
