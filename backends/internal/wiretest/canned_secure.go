package wiretest

import (
	"fmt"
	"net"
	"sync"
)

// cannedSecure is a canned server over TLS, with a goroutine for each connection.
type cannedSecure struct {
	segments [][]byte
	held     int // number of answers to wait for before the third segments; 0: none

	mu      sync.Mutex
	waiting int
	release chan struct{}
}

func (s *cannedSecure) serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.release = make(chan struct{})
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	l = Secured(l)
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go s.answer(c)
	}
}

func (s *cannedSecure) answer(c net.Conn) {
	defer c.Close()
	buf, n := make([]byte, 4<<10), 0
	for {
		k, err := c.Read(buf[n:])
		if err != nil {
			return
		}
		if n += k; !complete(buf[:n]) {
			continue
		}
		n = 0
		for i, segment := range s.segments {
			if i == 2 {
				s.wait()
			}
			if _, err := c.Write(segment); err != nil {
				return
			}
		}
	}
}

// wait returns when so many answers have come this far.
func (s *cannedSecure) wait() {
	s.mu.Lock()
	if s.waiting++; s.waiting == s.held {
		close(s.release)
	}
	late := s.waiting > s.held
	s.mu.Unlock()
	if !late {
		<-s.release
	}
}
