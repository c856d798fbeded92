package calibrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// NoOpModel is the model that the no-op server lists.
const NoOpModel = "no-op"

// NoOp is a server that answers every request at once: requests for equally many tokens get the same bytes, as vLLM
// would stream them. One thread serves all connections with three system calls a request, because the cost of this
// server limits the rates that a calibration can show.
type NoOp struct {
	URL      string
	listener int
	poll     int
	split    bool             // write each token separately
	answers  map[int][][]byte // by tokens: the parts, each in a write of its own
	conns    map[int32]*[]byte
	scratch  []byte
}

const (
	listing = `{"object":"list","version":"no-op","server_load":0,"data":[{"id":"` + NoOpModel +
		`","object":"model","owned_by":"vllm","max_model_len":131072}]}`
	streamHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
	eventStart = `data: {"id":"cmpl-no-op","object":"text_completion","created":1,"model":"` + NoOpModel + `","choices":[`
	token      = `{"index":0,"text":" no","logprobs":null,"finish_reason":%s,"stop_reason":null,"token_ids":[%d]}]}`
	usage      = `],"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d}}`
)

// noOpPrompt is the length that the server reports for every prompt.
const noOpPrompt = 16

// answerParts returns the parts of an answer with n tokens: all bytes at once, or one part for each token.
func answerParts(tokens int, split bool) [][]byte {
	parts := [][]byte{[]byte(streamHead)}
	chunk := func(text string, fresh bool) {
		event := text + "\n\n"
		if fresh && len(parts[0]) > len(streamHead) {
			parts = append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last = fmt.Appendf(*last, "%x\r\n%s\r\n", len(event), event)
	}
	for i := range tokens {
		reason := "null"
		if i == tokens-1 {
			reason = `"length"`
		}
		chunk(eventStart+fmt.Sprintf(token, reason, 100+i), split)
	}
	chunk(eventStart+fmt.Sprintf(usage, noOpPrompt, noOpPrompt+tokens, tokens), false)
	chunk("data: [DONE]", false)
	last := &parts[len(parts)-1]
	*last = append(*last, "0\r\n\r\n"...)
	return parts
}

// NewNoOp listens on a free loopback port. With split, each token of an answer is a write of its own.
func NewNoOp(split bool) (*NoOp, error) {
	s := &NoOp{listener: -1, poll: -1, split: split, answers: map[int][][]byte{}, conns: map[int32]*[]byte{},
		scratch: make([]byte, 64<<10)}
	if err := s.listen(); err != nil {
		s.close()
		return nil, fmt.Errorf("the no-op server cannot listen: %w", err)
	}
	return s, nil
}

func (s *NoOp) listen() (err error) {
	const kind = unix.SOCK_STREAM | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
	if s.listener, err = unix.Socket(unix.AF_INET, kind, 0); err != nil {
		return err
	}
	if err = unix.Bind(s.listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err = unix.Listen(s.listener, unix.SOMAXCONN); err != nil {
		return err
	}
	at, err := unix.Getsockname(s.listener)
	if err != nil {
		return err
	}
	own := at.(*unix.SockaddrInet4)
	s.URL = "http://" + netip.AddrPortFrom(netip.AddrFrom4(own.Addr), uint16(own.Port)).String()
	if s.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	return s.add(s.listener)
}

func (s *NoOp) add(fd int) error {
	return unix.EpollCtl(s.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

func (s *NoOp) close() {
	for fd := range s.conns {
		_ = unix.Close(int(fd))
	}
	_, _ = unix.Close(s.listener), unix.Close(s.poll) // closing -1 fails without harm
}

// checkEvery is how often Serve checks its context.
const checkEvery = 100 * time.Millisecond

// Serve answers until ctx ends.
func (s *NoOp) Serve(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer s.close()
	events := make([]unix.EpollEvent, 256)
	for ctx.Err() == nil {
		n, err := unix.EpollWait(s.poll, events, int(checkEvery.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("the no-op server cannot wait for requests: %w", err)
		}
		for _, e := range events[:max(n, 0)] {
			if int(e.Fd) == s.listener {
				s.accept()
			} else {
				s.read(e.Fd)
			}
		}
	}
	return nil
}

func (s *NoOp) accept() {
	fd, _, err := unix.Accept4(s.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return // it is closed, or there are too many: the client reports it
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // without it answers are late but correct
	if s.add(fd) != nil {
		_ = unix.Close(fd)
		return
	}
	s.conns[int32(fd)] = new([]byte)
}

// read reads the bytes of a connection and answers its complete requests.
func (s *NoOp) read(fd int32) {
	n, err := unix.Read(int(fd), s.scratch)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	if err != nil || n <= 0 || !s.serve(fd, s.scratch[:n]) {
		delete(s.conns, fd)
		_ = unix.Close(int(fd))
	}
}

// serve answers the complete requests and keeps the rest. It returns false if the connection must be closed.
func (s *NoOp) serve(fd int32, rest []byte) bool {
	held := s.conns[fd]
	if len(*held) > 0 {
		*held = append(*held, rest...)
		rest = *held
	}
	for len(rest) > 0 {
		size := requestSize(rest)
		switch {
		case size < 0:
			return false
		case size == 0 || size > len(rest):
			*held = append((*held)[:0], rest...)
			return true
		case !s.answer(int(fd), rest[:size]):
			return false
		}
		rest = rest[size:]
	}
	*held = (*held)[:0]
	return true
}

// largest is the size of the largest request that the server reads.
const largest = 1 << 20

// requestSize returns the size of the request at the start of b; 0: its head is incomplete; -1: the server does not
// read it.
func requestSize(b []byte) int {
	head := bytes.Index(b, []byte("\r\n\r\n"))
	if head < 0 {
		if len(b) > largest {
			return -1
		}
		return 0
	}
	const field = "content-length:"
	for line := range bytes.SplitSeq(b[:head], []byte("\r\n")) {
		if len(line) > len(field) && bytes.EqualFold(line[:len(field)], []byte(field)) {
			n, err := strconv.Atoi(string(bytes.TrimSpace(line[len(field):])))
			if err != nil || n < 0 || n > largest {
				return -1
			}
			return head + 4 + n
		}
	}
	return head + 4
}

// mostTokens bounds an answer, and so the number of stored ones.
const mostTokens = 4096

// tokensAsked returns the max_tokens of a request; 1 if it names none.
func tokensAsked(request []byte) int {
	_, rest, _ := bytes.Cut(request, []byte(`"max_tokens":`))
	n := 0
	for _, c := range rest {
		if c < '0' || c > '9' || n > mostTokens {
			break
		}
		n = n*10 + int(c-'0')
	}
	return min(max(n, 1), mostTokens)
}

// answer writes the answer to a POST, or the list of models to any other request.
func (s *NoOp) answer(fd int, request []byte) bool {
	if request[0] != 'P' {
		return send(fd, fmt.Appendf(nil, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s",
			len(listing), listing))
	}
	n := tokensAsked(request)
	parts, ok := s.answers[n]
	if !ok {
		parts = answerParts(n, s.split)
		s.answers[n] = parts
	}
	for _, part := range parts {
		if !send(fd, part) {
			return false
		}
	}
	return true
}

// send writes all bytes. It waits at most a second for a client that reads slowly.
func send(fd int, b []byte) bool {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		switch {
		case err == nil:
			b = b[n:]
		case errors.Is(err, unix.EAGAIN):
			room := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			if n, err := unix.Poll(room, 1000); n == 0 || err != nil && !errors.Is(err, unix.EINTR) {
				return false
			}
		case !errors.Is(err, unix.EINTR):
			return false
		}
	}
	return true
}
