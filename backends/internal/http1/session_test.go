package http1

import (
	"bytes"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// pair returns a session whose handshake is over, and the server's side of it. The bytes for the session are read from
// the returned connection.
func pair(t *testing.T, version uint16) (*session, *tls.Conn, net.Conn) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	config := wiretest.ServerTLS().Clone()
	config.MaxVersion, config.SessionTicketsDisabled = version, true
	server := tls.Server(there, config)
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	switched := &switching{Conn: here}
	client := tls.Client(switched, &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"})
	require.NoError(t, client.Handshake())
	require.NoError(t, <-done)
	var out []byte
	s := &session{out: &out, tls: client}
	switched.s = s
	return s, server, here
}

// switching is a connection until it has a session.
type switching struct {
	net.Conn
	s *session
}

func (c *switching) Read(p []byte) (int, error) {
	if c.s != nil {
		return c.s.Read(p)
	}
	return c.Conn.Read(p)
}

func (c *switching) Write(p []byte) (int, error) {
	if c.s != nil {
		return c.s.Write(p)
	}
	return c.Conn.Write(p)
}

// TestRecordsResume pins what the loop relies on in crypto/tls: a record that was read in part is continued after a
// temporary error, wherever it was cut, and nothing is lost, repeated or taken for an error.
func TestRecordsResume(t *testing.T) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		for _, most := range []int{1, 2, 7, 700, 70000} {
			t.Run(name, func(t *testing.T) {
				s, server, from := pair(t, version)
				r := rand.New(rand.NewPCG(1, uint64(most)))
				messages := min(200, 20*most)
				var sent, got bytes.Buffer
				written := make(chan struct{})
				go func() {
					defer close(written)
					defer server.CloseWrite()
					for range messages {
						message := make([]byte, 1+r.IntN(3000))
						for i := range message {
							message[i] = byte(r.Uint32())
						}
						sent.Write(message)
						if _, err := server.Write(message); err != nil {
							return
						}
					}
				}()
				raw, plain := make([]byte, 70000), make([]byte, 64<<10)
				pieces := rand.New(rand.NewPCG(2, uint64(most)))
				for over := false; !over; {
					n, err := from.Read(raw[:1+pieces.IntN(most)])
					require.NoError(t, err)
					s.in = raw[:n]
					k, err := s.open(plain)
					got.Write(plain[:k])
					require.Empty(t, s.in)
					over = err == io.EOF
					require.True(t, err == nil || over, err)
				}
				<-written
				require.True(t, bytes.Equal(sent.Bytes(), got.Bytes()))
				require.Empty(t, s.pending())
			})
		}
	}
}

// FuzzSession feeds bytes to a session as those of its server. Whatever they are, they decrypt to nothing.
func FuzzSession(f *testing.F) {
	f.Add([]byte{}, uint(0))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), uint(3))
	f.Add([]byte{23, 3, 3, 0, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, uint(5))
	f.Add([]byte{21, 3, 3, 0, 2, 1, 0}, uint(6))
	f.Add([]byte{22, 3, 3, 0, 4, 0, 0, 0, 0}, uint(1))
	f.Fuzz(func(t *testing.T, b []byte, at uint) {
		at %= uint(len(b) + 1)
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			s, _, _ := pair(t, version)
			plain := make([]byte, 64<<10)
			for _, piece := range [][]byte{b[:at], b[at:]} {
				s.in = piece
				n, err := s.open(plain)
				require.Zero(t, n)
				if err != nil {
					require.NotEqual(t, io.EOF, err, "an end that the server has not announced")
					break
				}
			}
		}
	})
}

// FuzzRecords cuts and damages the records of a server at places that the fuzzer chooses. Undamaged, every byte arrives
// once and in order; damaged, what arrives is a beginning of what was sent, and the session ends with an error.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("data: {}\n\n"), uint16(1), uint64(3), uint(0), byte(0))
	f.Add(bytes.Repeat([]byte("0123456789abcdef"), 2000), uint16(700), uint64(1), uint(40), byte(1))
	f.Add([]byte("x"), uint16(5), uint64(9), uint(3), byte(0x80))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), uint16(9), uint64(2), uint(1), byte(7))
	f.Fuzz(func(t *testing.T, text []byte, most uint16, seed uint64, at uint, flip byte) {
		text = text[:min(len(text), 64<<10)]
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			s, server, from := pair(t, version)
			written := make(chan struct{})
			go func() {
				defer close(written)
				for r, rest := rand.New(rand.NewPCG(seed, 1)), text; len(rest) > 0; {
					n := min(len(rest), 1+r.IntN(20000))
					if _, err := server.Write(rest[:n]); err != nil {
						return
					}
					rest = rest[n:]
				}
				server.CloseWrite()
				server.NetConn().Close()
			}()
			raw, err := io.ReadAll(from)
			require.NoError(t, err)
			<-written
			if flip != 0 {
				raw[at%uint(len(raw))] ^= flip
			}
			got, err := feedInPieces(s, raw, rand.New(rand.NewPCG(seed, 2)), int(most))
			if flip == 0 {
				require.Equal(t, io.EOF, err)
				require.True(t, bytes.Equal(text, got))
				continue
			}
			require.True(t, bytes.HasPrefix(text, got))
			require.NotEqual(t, io.EOF, err, "a damaged session has no announced end")
		}
	})
}

// feedInPieces passes bytes to a session in pieces of random lengths, and returns what they contain.
func feedInPieces(s *session, raw []byte, r *rand.Rand, most int) (got []byte, err error) {
	plain := make([]byte, 100)
	for len(raw) > 0 {
		n := min(len(raw), 1+r.IntN(1+most))
		s.in, raw = raw[:n], raw[n:]
		for more := true; more; {
			var k int
			k, err = s.open(plain)
			got = append(got, plain[:k]...)
			if err != nil {
				return got, err
			}
			more = k == len(plain)
		}
	}
	return got, nil
}
