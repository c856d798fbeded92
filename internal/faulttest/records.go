package faulttest

import (
	"bytes"
	"crypto/tls"
	"net"
	"sync"
)

// Records is the connection below a server's TLS. It can change each record that the server writes.
type Records struct {
	net.Conn
	mu     sync.Mutex // a test that ends closes the connection, which writes too
	change func(record []byte) [][]byte
}

// Change sets a function that returns the pieces to write for each further record; nil: the record itself.
func (r *Records) Change(change func(record []byte) [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.change = change
}

// Write writes the record, or the pieces that replace it.
func (r *Records) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pieces := [][]byte{b}
	if r.change != nil {
		pieces = r.change(bytes.Clone(b))
	}
	for _, p := range pieces {
		if _, err := r.Conn.Write(p); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Below returns the connection below the TLS of a connection that a listener of OnRecords accepted.
func Below(c net.Conn) *Records { return c.(*tls.Conn).NetConn().(*Records) }

// OnRecords returns a listener whose connections use TLS on Records.
func OnRecords(l net.Listener, config *tls.Config) net.Listener { return recordListener{l, config} }

type recordListener struct {
	net.Listener
	config *tls.Config
}

func (l recordListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(&Records{Conn: c}, l.config), nil
}

// Halved cuts a record in the middle.
func Halved(record []byte) [][]byte { return [][]byte{record[:len(record)/2]} }

// Damaged changes the last byte of a record, so that its authentication fails.
func Damaged(record []byte) [][]byte {
	record[len(record)-1] ^= 1
	return [][]byte{record}
}
