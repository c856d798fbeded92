package main

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
)

// tlsFront is a program for scripts: tls-front LISTEN SERVER passes the bytes of TLS connections to a server and back.
// Each connection to the server has another source address, so that they use up no local ports.
func tlsFront() {
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	l, err := tls.Listen("tcp", os.Args[1], &tls.Config{Certificates: certified.TLS.Certificates})
	if err != nil {
		log.Fatal(err)
	}
	for n := 0; ; n++ {
		secure, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(n>>8), byte(n))}}
		plain, err := from.Dial("tcp", os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		for _, pipe := range [][2]net.Conn{{plain, secure}, {secure, plain}} {
			go func() {
				_, _ = io.Copy(pipe[0], pipe[1])
				_ = pipe[0].Close()
			}()
		}
	}
}
