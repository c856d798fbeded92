package judge

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"time"
)

// The client's half of a WebSocket (RFC 6455): text messages, pings answered, no extensions.

// Kinds of frames.
const (
	opContinue = 0x0
	opWords    = 0x1
	opBinary   = 0x2
	opClose    = 0x8
	opPing     = 0x9
	opPong     = 0xa
)

const (
	socketGUID     = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" // RFC 6455 §1.3
	mostMessage    = 16 << 20
	mostHandshake  = 64 << 10
	socketSilence  = 20 * time.Minute // the reference's limit of a whole batch
	dialTimeout    = 30 * time.Second
	finalFrame     = 0x80
	maskedFrame    = 0x80
	reservedBits   = 0x70
	mostControl    = 125
	mostPerMessage = 1 << 16 // frames of one message, and control frames between them
)

// socket is one connection. It is for one goroutine.
type socket struct {
	conn net.Conn
	r    *bufio.Reader
	stop func() bool // the watch over the context
}

func dialSocket(ctx context.Context, to *url.URL) (*socket, error) {
	port := to.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[to.Scheme]
	}
	address := net.JoinHostPort(to.Hostname(), port)
	dialer := &net.Dialer{Timeout: dialTimeout}
	var conn net.Conn
	var err error
	if to.Scheme == "wss" {
		conn, err = (&tls.Dialer{NetDialer: dialer}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = dialer.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	bounded := &io.LimitedReader{R: conn, N: mostHandshake}
	c := &socket{conn: conn, r: bufio.NewReader(bounded)}
	c.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	if err := c.shakeHands(to); err != nil {
		c.close()
		return nil, err
	}
	bounded.N = math.MaxInt64 // messages have a bound of their own
	return c, nil
}

func (c *socket) close() {
	c.stop()
	_ = c.conn.Close()
}

// shakeHands asks for the protocol and checks the server's proof that it understood.
func (c *socket) shakeHands(to *url.URL) error {
	var nonce [16]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	key := base64.StdEncoding.EncodeToString(nonce[:])
	target := &url.URL{Path: to.Path, RawQuery: to.RawQuery}
	if target.Path == "" {
		target.Path = "/"
	}
	if err := c.conn.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: "+
		"Upgrade\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n",
		target.RequestURI(), to.Host, key); err != nil {
		return err
	}
	reply, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return fmt.Errorf("opening a WebSocket: %w", err)
	}
	_ = reply.Body.Close()
	proof := sha1.Sum([]byte(key + socketGUID))
	if reply.StatusCode != http.StatusSwitchingProtocols ||
		reply.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(proof[:]) {
		return fmt.Errorf("opening a WebSocket: the server answers %s, expected 101 with the proof of the protocol",
			reply.Status)
	}
	return c.conn.SetDeadline(time.Time{})
}

// send writes one message as one masked frame.
func (c *socket) send(op byte, message []byte) error {
	frame := []byte{finalFrame | op}
	switch n := len(message); {
	case n <= mostControl:
		frame = append(frame, maskedFrame|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, maskedFrame|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, maskedFrame|127), uint64(n))
	}
	var mask [4]byte
	if _, err := rand.Read(mask[:]); err != nil {
		return err
	}
	frame = append(frame, mask[:]...)
	for i, b := range message {
		frame = append(frame, b^mask[i%4])
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	_, err := c.conn.Write(frame)
	return err
}

// receive gives the next message; pings are answered meanwhile.
func (c *socket) receive() ([]byte, error) {
	var message []byte
	begun := false
	if err := c.conn.SetReadDeadline(time.Now().Add(socketSilence)); err != nil {
		return nil, err
	}
	for range mostPerMessage {
		op, final, data, err := c.frame(mostMessage - len(message))
		if err != nil {
			return nil, fmt.Errorf("reading from the WebSocket: %w", err)
		}
		switch op {
		case opPing:
			if err := c.send(opPong, data); err != nil {
				return nil, err
			}
			continue
		case opPong:
			continue
		case opClose:
			return nil, errors.New("the server closed the WebSocket without an answer")
		case opWords, opBinary, opContinue:
			if begun != (op == opContinue) {
				return nil, errors.New("the server's frames are in no order")
			}
			begun = true
		default:
			return nil, fmt.Errorf("the server sent a frame of the unknown kind %d", op)
		}
		if message = append(message, data...); final {
			return message, nil
		}
	}
	return nil, fmt.Errorf("the server sent more than %d frames before its message ended", mostPerMessage)
}

// frame reads one frame of at most so many bytes.
func (c *socket) frame(most int) (op byte, final bool, data []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(c.r, head[:2]); err != nil {
		return 0, false, nil, err
	}
	op, final = head[0]&0xf, head[0]&finalFrame != 0
	size := uint64(head[1] &^ maskedFrame)
	switch {
	case head[0]&reservedBits != 0 || head[1]&maskedFrame != 0:
		return 0, false, nil, errors.New("the server sent a frame that breaks the protocol")
	case op >= opClose && (size > mostControl || !final):
		return 0, false, nil, errors.New("the server sent a control frame that is too long")
	case size == 126:
		_, err = io.ReadFull(c.r, head[:2])
		size = uint64(binary.BigEndian.Uint16(head[:2]))
	case size == 127:
		_, err = io.ReadFull(c.r, head[:8])
		size = binary.BigEndian.Uint64(head[:8])
	}
	if err != nil {
		return 0, false, nil, err
	}
	if size > uint64(most) {
		return 0, false, nil, fmt.Errorf("a message has more than %d bytes", mostMessage)
	}
	data = make([]byte, size)
	_, err = io.ReadFull(c.r, data)
	return op, final, data, err
}
