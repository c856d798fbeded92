package parcel

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestThroughput measures a stream of results over loopback, with files that cannot be compressed. It needs an
// otherwise idle machine (scripts/bench.sh).
func TestThroughput(t *testing.T) {
	if os.Getenv("PARCEL_BENCH") == "" {
		t.Skip("measures streams, if PARCEL_BENCH is set")
	}
	const files, size = 8, 64 << 20
	from := t.TempDir()
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	for i := range files {
		random.Read(data)
		require.NoError(t, os.WriteFile(filepath.Join(from, fmt.Sprint(i)), data, 0o600))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	source, target := open(t, from), open(t, t.TempDir())
	sent := make(chan error, 1)
	began := time.Now()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = Send(conn, source, nil)
			conn.Close()
		}
		sent <- err
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	m, err := Receive(conn, target, DefaultLimits)
	took := time.Since(began)
	require.NoError(t, err)
	require.NoError(t, <-sent)
	require.EqualValues(t, files*size, m.Bytes())
	fmt.Printf("MEASURED spread/collection %.1f MB/s\n", files*size/1e6/took.Seconds())
}
