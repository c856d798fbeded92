// HOT PATH: Read, Write, seal and open run once a request or a token. They may not lock or block. crypto/tls allocates
// 32 bytes for each read of its own; nothing else may allocate once the loop's buffers have their size.

package http1

import (
	"crypto/tls"
	"io"
	"net"
	"time"
)

// session is the TLS of one connection. crypto/tls reads and writes through it, and never waits: Read returns
// errNoBytes when the loop has received nothing more, and Write collects records that the loop sends.
type session struct {
	opening *opening // nil: the loop carries the bytes; until then a goroutine has the session
	in      []byte   // received, unread by crypto/tls
	out     *[]byte  // records to send; all sessions of a loop share them
	tls     *tls.Conn
}

// noBytes is the error of a Read that would have to wait. crypto/tls keeps a record that it has read in part after an
// error that is temporary, and goes on with it at the next read (TestRecordsResume).
type noBytes struct{}

func (noBytes) Error() string   { return "no more bytes have come" }
func (noBytes) Timeout() bool   { return false }
func (noBytes) Temporary() bool { return true }

var errNoBytes net.Error = noBytes{}

// Read implements net.Conn for crypto/tls.
func (s *session) Read(p []byte) (int, error) {
	if s.opening != nil {
		return s.opening.read(p)
	}
	if len(s.in) == 0 {
		return 0, errNoBytes
	}
	n := copy(p, s.in)
	s.in = s.in[n:]
	return n, nil
}

// Write implements net.Conn for crypto/tls.
func (s *session) Write(p []byte) (int, error) {
	if s.opening != nil {
		return s.opening.write(p)
	}
	*s.out = append(*s.out, p...)
	return len(p), nil
}

// seal returns the records of two pieces of plaintext, behind those that are pending. They are valid until the next
// call for any session of the loop.
func (s *session) seal(head, body []byte) ([]byte, error) {
	for _, p := range [...][]byte{head, body} {
		if len(p) == 0 {
			continue
		}
		if _, err := s.tls.Write(p); err != nil {
			_ = s.pending()
			return nil, err
		}
	}
	return s.pending(), nil
}

// open decrypts the received bytes into buf. It returns io.EOF after the peer's close_notify and nil if there is no
// more or buf is full. It may leave records to send, such as the answer to a key update.
func (s *session) open(buf []byte) (n int, err error) {
	for n < len(buf) {
		var k int
		k, err = s.tls.Read(buf[n:])
		n += k
		if err == errNoBytes {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// pending returns the records that crypto/tls has written by itself.
func (s *session) pending() []byte {
	records := *s.out
	*s.out = records[:0]
	return records
}

// farewell returns the records that end a session: an alert that was not sent yet, and close_notify.
func (s *session) farewell() []byte {
	_ = s.tls.CloseWrite() // without it, the peer sees the end of the socket
	return s.pending()
}

// The rest of net.Conn is without effect: the loop owns the socket and the deadlines.

func (*session) Close() error                     { return nil }
func (*session) LocalAddr() net.Addr              { return nowhere{} }
func (*session) RemoteAddr() net.Addr             { return nowhere{} }
func (*session) SetDeadline(time.Time) error      { return nil }
func (*session) SetReadDeadline(time.Time) error  { return nil }
func (*session) SetWriteDeadline(time.Time) error { return nil }

type nowhere struct{}

func (nowhere) Network() string { return "tcp" }
func (nowhere) String() string  { return "" }

// inner is a TLS connection that carries another one. The end of the outer one is not the announced end of the inner
// one.
type inner struct{ *tls.Conn }

// Read is Read of the outer connection, but its end is io.ErrUnexpectedEOF.
func (c inner) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
