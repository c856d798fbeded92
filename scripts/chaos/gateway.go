package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
)

// serveHTTP2 serves a connection by HTTP/2 until it ends. Each of its streams has its own connection to the server
// behind it, as in a gateway.
func (s *server) serveHTTP2(raw net.Conn, number int) {
	secure := s.secure.Clone()
	secure.NextProtos = []string{"h2"}
	ended := make(chan struct{})
	h := &http.Server{
		ErrorLog: log.New(io.Discard, "", 0), // connections break on purpose
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.pass(w, r, number) }),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				close(ended)
			}
		},
	}
	_ = h.Serve(&oneConn{conn: tls.Server(raw, secure)}) // ends at once: there is no other connection
	<-ended
}

// oneConn is a listener with one connection.
type oneConn struct{ conn net.Conn }

func (l *oneConn) Accept() (c net.Conn, err error) {
	if c, l.conn = l.conn, nil; c == nil {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
func (l *oneConn) Close() error   { return nil }

// pass passes a request to the server, and its answer to the client as it comes. A broken answer ends its stream.
func (s *server) pass(w http.ResponseWriter, r *http.Request, number int) {
	here, there := net.Pipe()
	s.users.Add(1)
	defer s.users.Done()
	defer here.Close()
	stop := context.AfterFunc(r.Context(), func() { _ = here.Close() })
	defer stop()
	s.users.Add(1)
	go func() {
		defer s.users.Done()
		defer there.Close()
		s.requests(there, there, number)
	}()
	go func() { _ = r.Write(here) }() // ends with the pipe
	in := bufio.NewReaderSize(here, 1<<16)
	answer, err := http.ReadResponse(in, r)
	for err == nil && answer.StatusCode/100 == 1 {
		copyHeader(w, answer)
		w.WriteHeader(answer.StatusCode)
		answer, err = http.ReadResponse(in, r)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	copyHeader(w, answer)
	if answer.Close {
		w.Header().Set("Connection", "close") // the connection ends after the remaining answers
	}
	w.WriteHeader(answer.StatusCode)
	out := http.NewResponseController(w)
	for b := make([]byte, 1<<16); ; {
		n, err := answer.Body.Read(b)
		if _, broken := w.Write(b[:n]); broken != nil || out.Flush() != nil || err != nil && err != io.EOF {
			panic(http.ErrAbortHandler)
		}
		if err == io.EOF {
			return
		}
	}
}

// copyHeader copies the fields that concern more than one connection.
func copyHeader(w http.ResponseWriter, answer *http.Response) {
	clear(w.Header())
	for name, values := range answer.Header {
		if name != "Connection" && name != "Keep-Alive" {
			w.Header()[name] = values
		}
	}
}
