package truncate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// For any log and scores, a plan keeps both ends of the log and every line of the scores, and its hash is that of the
// whole log. A later call continues at whichever step an earlier one stopped. Other tests write real files.
func FuzzTruncate(f *testing.F) {
	f.Add([]byte("[\n]\n"), []byte("Results\n"))
	f.Add([]byte(strings.Repeat("x", endSize)), []byte("hash=00\n"))
	f.Add([]byte(strings.Repeat("{}", 3*endSize)), []byte(""))
	f.Add([]byte("ä"), []byte("\r\nhash=zz\r\n"))
	f.Add([]byte(strings.Repeat("[]\n", endSize)), []byte("rouge 1"))
	f.Fuzz(func(t *testing.T, log, text []byte) {
		for _, k := range []kind{{needsText: true}, {}} {
			truncateWhole(t, k, log, text)
		}
	})
}

func planned(k kind, log, text []byte) (change, error) {
	return k.plan(bytes.NewReader(log), int64(len(log)), sum(string(log)), text)
}

// truncateWhole applies plans to a log until nothing changes.
func truncateWhole(t *testing.T, k kind, log, text []byte) {
	c, err := planned(k, log, text)
	if err != nil || c.state == Hashed {
		require.Nil(t, c.text)
		require.Nil(t, c.log)
		require.True(t, err == nil || c.state == "", "an error leaves no plan")
		return
	}
	require.Equal(t, Truncated, c.state)
	scores := text
	if c.text != nil {
		scores = c.text
		require.Empty(t, layout.TruncationHash(text), "nothing is hashed twice")
		if k.needsText {
			require.True(t, bytes.HasPrefix(scores, text), "the scores stay")
		}
	}
	require.Equal(t, sum(string(log)), layout.TruncationHash(scores))
	rest := log
	if c.log != nil {
		rest = c.log
		require.Len(t, rest, 2*endSize+len(gap))
		require.Equal(t, log[:endSize], rest[:endSize])
		require.Equal(t, log[len(log)-endSize:], rest[len(rest)-endSize:])
	}

	again, err := planned(k, log, scores)
	require.NoError(t, err, "after a death between the hash and the cut")
	require.Nil(t, again.text)
	require.Equal(t, c.log, again.log)
	done, err := planned(k, rest, scores)
	require.NoError(t, err)
	require.Equal(t, change{state: Hashed}, done, "after the end")
}
