package parcel

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestThroughput compares a stream of results over loopback, with files that cannot be compressed, with what it has to
// do at least: hash the files, send them, hash them again and write them. The best of some rounds counts, since other
// processes may disturb one. With PARCEL_BENCH (scripts/bench.sh) it measures larger files.
func TestThroughput(t *testing.T) {
	files, size := 4, 4<<20
	measure := os.Getenv("PARCEL_BENCH") != ""
	if measure {
		files, size = 8, 64<<20
	}
	from := t.TempDir()
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	for i := range files {
		random.Read(data)
		require.NoError(t, os.WriteFile(filepath.Join(from, fmt.Sprint(i)), data, 0o600))
	}
	least, stream := cost{time.Hour, time.Hour}, cost{time.Hour, time.Hour}
	for range 4 {
		least = best(least, overLoopback(t, func(conn net.Conn) error { return sendPlain(conn, from, files) },
			func(conn net.Conn) error { return receivePlain(conn, t.TempDir(), files, size) }))
		source, target := open(t, from), open(t, t.TempDir())
		stream = best(stream, overLoopback(t, func(conn net.Conn) error { return Send(conn, source, nil) },
			func(conn net.Conn) error {
				_, err := Receive(conn, target, DefaultLimits)
				return err
			}))
	}
	rate := float64(files*size) / 1e6 / stream.wall.Seconds()
	ratio := stream.processor.Seconds() / least.processor.Seconds()
	t.Logf("%.1f MB/s, %.2f times the processor time of the least work", rate, ratio)
	require.Less(t, ratio, 3.0)
	require.Greater(t, rate, 10.0) // an idle machine has above 100
	if measure {
		fmt.Printf("MEASURED spread/collection %.1f MB/s\n", rate)
	}
}

// cost is what a transfer needs.
type cost struct{ wall, processor time.Duration }

func best(a, b cost) cost { return cost{min(a.wall, b.wall), min(a.processor, b.processor)} }

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// overLoopback makes a transfer.
func overLoopback(t *testing.T, send, receive func(net.Conn) error) cost {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	sent := make(chan error, 1)
	began, used := time.Now(), processorTime(t)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = errors.Join(send(conn), conn.Close())
		}
		sent <- err
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, receive(conn))
	require.NoError(t, <-sent)
	return cost{time.Since(began), processorTime(t) - used}
}

// sendPlain hashes all files, as a manifest does, and sends them.
func sendPlain(conn net.Conn, from string, files int) error {
	for _, to := range []func() io.Writer{func() io.Writer { return sha256.New() }, func() io.Writer { return conn }} {
		for i := range files {
			f, err := os.Open(filepath.Join(from, fmt.Sprint(i)))
			if err != nil {
				return err
			}
			_, err = io.Copy(to(), f)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

// receivePlain writes files and hashes them.
func receivePlain(conn net.Conn, to string, files, size int) error {
	for i := range files {
		f, err := os.Create(filepath.Join(to, fmt.Sprint(i)))
		if err != nil {
			return err
		}
		_, err = io.CopyN(io.MultiWriter(f, sha256.New()), conn, int64(size))
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
