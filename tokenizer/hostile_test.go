package tokenizer

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allocated returns the total heap allocation of a call in bytes, an upper bound of what the call holds at any time.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileFiles reads large files without useful content. Each causes an error of one paragraph and needs memory of
// at most a few times its size.
func TestHostileFiles(t *testing.T) {
	const size = 4 << 20
	fill := func(before, each string) []byte {
		return append([]byte(before), bytes.Repeat([]byte(each), size/len(each))...)
	}
	for name, file := range map[string][]byte{
		"brackets":           fill("", "["),
		"nested objects":     fill(`{"model":`, `{"a":`),
		"one long text":      fill(`{"model":{"type":"`, "x"),
		"one token for ever": fill(`{"model":{"type":"BPE","vocab":{`, `"a":0,`),
		"merges":             fill(`{"model":{"type":"BPE","merges":[`, `"a b",`),
		"added tokens":       fill(`{"added_tokens":[`, `{"id":1,"content":"x"},`),
		"steps":              fill(`{"normalizer":{"type":"Sequence","normalizers":[`, `{"type":"NFC"},`),
		"zeros":              make([]byte, size),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			used := allocated(func() { _, err = Parse(file, nil) })
			refused(t, err)
			require.Less(t, used, uint64(40*size))
			used = allocated(func() { _, err = Parse(file, nil) })
			refused(t, err)
			require.Less(t, used, uint64(40*size))
		})
	}
}

// TestCutFiles truncates a tokenizer.json at many places, and changes each member to a wrong type.
func TestCutFiles(t *testing.T) {
	for _, file := range [][]byte{spelled(t), sentencePiece(t, nil)} {
		for n := 0; n < len(file); n += 1 + n/50 {
			_, err := Parse(file[:n], nil)
			refused(t, err)
		}
		for _, member := range []string{`"model":`, `"vocab":`, `"merges":`, `"pre_tokenizer":`, `"decoder":`,
			`"added_tokens":`, `"normalizer":`, `"post_processor":`} {
			at := bytes.Index(file, []byte(member))
			if at < 0 {
				continue
			}
			_, err := Parse(append(append(append([]byte{}, file[:at+len(member)]...), `"x","other":`...),
				file[at+len(member):]...), nil)
			refused(t, err)
		}
	}
}

func refused(t *testing.T, err error) {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 1000)
	require.True(t, strings.HasPrefix(err.Error(), "cannot use "), err)
}
