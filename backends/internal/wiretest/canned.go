package wiretest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	cannedRole = "WIRETEST_CANNED"
	cannedHeld = "WIRETEST_CANNED_HELD"
	cannedPace = "WIRETEST_CANNED_PACE"
	cannedTLS  = "WIRETEST_CANNED_TLS"
)

// Canned starts a server in its own process, which sends the same answer to every request: one write per segment, in
// turn with those of other connections. The test binary has to call RunCanned in its TestMain. cpu is the processor
// that the server is pinned to; -1: any.
func Canned(t testing.TB, cpu int, segments ...string) (url string) {
	return startCanned(t, cpu, 0, 0, segments)
}

// CannedSecure is CannedHeld over TLS. The server costs more than a client.
func CannedSecure(t testing.TB, cpu, held int, segments ...string) (url string) {
	t.Setenv(cannedTLS, "1")
	return strings.Replace(startCanned(t, cpu, held, 0, segments), "http:", "https:", 1)
}

// CannedHeld is Canned, but waits before the third segments until that many answers have come so far.
func CannedHeld(t testing.TB, cpu, held int, segments ...string) (url string) {
	return startCanned(t, cpu, held, 0, segments)
}

// CannedPaced is Canned with a pause between the segments, rounded down to ms.
func CannedPaced(t testing.TB, cpu int, pace time.Duration, segments ...string) (url string) {
	return startCanned(t, cpu, 0, pace, segments)
}

func startCanned(t testing.TB, cpu, held int, pace time.Duration, segments []string) (url string) {
	file, err := os.CreateTemp(t.TempDir(), "answer")
	require.NoError(t, err)
	_, err = file.WriteString(strings.Join(segments, "\x00"))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), cannedRole+"="+file.Name(), cannedHeld+"="+strconv.Itoa(held),
		cannedPace+"="+strconv.FormatInt(pace.Milliseconds(), 10), "GOMAXPROCS=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe() // the server ends when it is closed
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	if cpu >= 0 {
		require.NoError(t, Pin(cmd.Process.Pid, cpu))
	}
	port := make([]byte, 16)
	n, err := out.Read(port)
	require.NoError(t, err)
	return "http://127.0.0.1:" + strings.TrimSpace(string(port[:n]))
}

// Pin pins all threads of a process to one processor.
func Pin(pid, cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, thread := range threads {
		if tid, err := strconv.Atoi(thread.Name()); err == nil {
			if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
				return err
			}
		}
	}
	return nil
}

// RunCanned runs the server in a process that Canned started, and returns at once in any other process.
func RunCanned() {
	name := os.Getenv(cannedRole)
	if name == "" {
		return
	}
	go func() {
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	data, err := os.ReadFile(name)
	if err == nil {
		held, _ := strconv.Atoi(os.Getenv(cannedHeld))
		pace, _ := strconv.Atoi(os.Getenv(cannedPace))
		if os.Getenv(cannedTLS) != "" {
			err = (&cannedSecure{segments: bytes.Split(data, []byte{0}), held: held}).serve()
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		err = (&canned{segments: bytes.Split(data, []byte{0}), held: held, pace: pace}).serve()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// canned is a server with an epoll loop on one thread, so that it costs less than any client.
type canned struct {
	segments [][]byte
	epoll    int
	clients  map[int]*cannedClient
	active   []*cannedClient
	held     int // number of answers to wait for; 0: none
	pace     int // ms before each segment
}

type cannedClient struct {
	fd, next int
	got      []byte
}

func (s *canned) serve() error {
	runtime.LockOSThread()
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(l, 4096); err != nil {
		return err
	}
	name, err := unix.Getsockname(l)
	if err != nil {
		return err
	}
	if s.epoll, err = unix.EpollCreate1(0); err != nil {
		return err
	}
	if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, l, &unix.EpollEvent{Events: unix.EPOLLIN,
		Fd: int32(l)}); err != nil {
		return err
	}
	s.clients = map[int]*cannedClient{}
	fmt.Println(name.(*unix.SockaddrInet4).Port)
	events, buf := make([]unix.EpollEvent, 256), make([]byte, 64<<10)
	for {
		wait := -1
		if s.held > 0 {
			wait = 1
		} else if len(s.active) > 0 {
			wait = s.pace
		}
		n, err := unix.EpollWait(s.epoll, events, wait)
		if err != nil && err != unix.EINTR {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			if int(e.Fd) == l {
				s.accept(l)
			} else {
				s.read(s.clients[int(e.Fd)], buf)
			}
		}
		s.send()
	}
}

func (s *canned) accept(l int) {
	for {
		fd, _, err := unix.Accept4(l, unix.SOCK_NONBLOCK)
		if err != nil {
			return
		}
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		s.clients[fd] = &cannedClient{fd: fd}
		unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
	}
}

func (s *canned) read(c *cannedClient, buf []byte) {
	n, err := unix.Read(c.fd, buf)
	if err == unix.EAGAIN {
		return
	}
	if n <= 0 {
		unix.Close(c.fd)
		delete(s.clients, c.fd)
		c.fd = -1
		return
	}
	got := buf[:n]
	if len(c.got) > 0 {
		c.got = append(c.got, got...)
		got = c.got
	}
	if !complete(got) {
		c.got = append(c.got[:0], got...)
		return
	}
	c.got, c.next = c.got[:0], 0
	s.active = append(s.active, c)
}

// complete reports whether b contains a whole request.
func complete(b []byte) bool {
	head := bytes.Index(b, []byte("\r\n\r\n"))
	if head < 0 {
		return false
	}
	const field = "ontent-Length: "
	at := bytes.Index(b[:head], []byte(field))
	length := 0
	for _, c := range b[at+len(field):] {
		if c < '0' || c > '9' {
			break
		}
		length = length*10 + int(c-'0')
	}
	return len(b) >= head+4+length
}

// send sends one segment on each connection that waits for one.
func (s *canned) send() {
	still := s.active[:0]
	waiting := 0
	for _, c := range s.active {
		if c.fd < 0 {
			continue
		}
		if s.held > 0 && c.next == 2 {
			still = append(still, c)
			waiting++
			continue
		}
		unix.SendmsgN(c.fd, s.segments[c.next], nil, nil, unix.MSG_NOSIGNAL)
		if c.next++; c.next < len(s.segments) {
			still = append(still, c)
		}
	}
	s.active = still
	if waiting == s.held {
		s.held = 0
	}
}
