package run

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// link joins two network namespaces of the test by a line that loses and delays packets. Each end is a TUN device, so
// the kernel does everything above IP: retransmissions, windows, resets.
type link struct {
	near, far *os.File // the devices, in namespaces of their own
	names     [2]string
	loss      float64       // share of lost packets, each way
	delay     time.Duration // each way
	carried   sync.WaitGroup
}

const (
	nearAddress = "10.99.0.1"
	farAddress  = "10.99.0.2"
)

// openLink creates the namespaces, or skips the test if that is not permitted.
func openLink(t *testing.T, loss float64, delay time.Duration) *link {
	t.Helper()
	for _, tool := range []string{"ip", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no lossy link without %s", tool)
		}
	}
	l := &link{loss: loss, delay: delay}
	for i, address := range []string{nearAddress, farAddress} {
		l.names[i] = "mlgo" + strconv.Itoa(os.Getpid()) + strconv.Itoa(i)
		if out, err := exec.Command("ip", "netns", "add", l.names[i]).CombinedOutput(); err != nil {
			t.Skipf("network namespaces are not permitted here: %v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", l.names[i]).Run() }) // named after this process
		tun, err := openTUN(l.names[i])
		if err != nil {
			t.Skipf("TUN devices are not permitted here: %v", err)
		}
		t.Cleanup(func() { _ = tun.Close() })
		for _, args := range [][]string{
			{"link", "set", "lo", "up"}, {"address", "add", address + "/24", "dev", "tun0"},
			{"link", "set", "tun0", "mtu", "1500", "up"},
		} {
			out, err := exec.Command("ip", append([]string{"-n", l.names[i]}, args...)...).CombinedOutput()
			require.NoError(t, err, "%v: %s", args, out)
		}
		if i == 0 {
			l.near = tun
		} else {
			l.far = tun
		}
	}
	l.carried.Add(2)
	go l.carry(l.near, l.far, 1)
	go l.carry(l.far, l.near, 2)
	t.Cleanup(func() {
		_ = l.near.Close()
		_ = l.far.Close()
		l.carried.Wait()
	})
	return l
}

// openTUN creates the device tun0 inside a namespace. The thread that enters the namespace is not used again.
func openTUN(namespace string) (*os.File, error) {
	type opened struct {
		fd  int
		err error
	}
	result := make(chan opened)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		fd, err := tunIn(namespace)
		result <- opened{fd, err}
	}()
	r := <-result
	if r.err != nil {
		return nil, r.err
	}
	return os.NewFile(uintptr(r.fd), "tun"), nil
}

func tunIn(namespace string) (int, error) {
	ns, err := unix.Open("/run/netns/"+namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(ns)
	if err := unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
		return 0, err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	request, err := unix.NewIfreq("tun0")
	if err != nil {
		return 0, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF,
		uintptr(unsafe.Pointer(request))); errno != 0 {
		_ = unix.Close(fd)
		return 0, errno
	}
	return fd, nil
}

// carry moves packets from one end to the other, late, and drops some.
func (l *link) carry(from, to *os.File, seed uint64) {
	defer l.carried.Done()
	type packet struct {
		due  time.Time
		data []byte
	}
	late := make(chan packet, 1<<16)
	var writer sync.WaitGroup
	writer.Go(func() {
		for p := range late {
			time.Sleep(time.Until(p.due))
			_, _ = to.Write(p.data) // a device that is closed, or not up, loses the packet too
		}
	})
	random := rand.New(rand.NewPCG(seed, 1))
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			break
		}
		if random.Float64() < l.loss {
			continue
		}
		select {
		case late <- packet{time.Now().Add(l.delay), append([]byte(nil), buffer[:n]...)}:
		default: // drop the packet, as a router with a full queue does
		}
	}
	close(late)
	writer.Wait()
}

// The line loses one packet in a hundred and takes 50 ms each way. Every sample is answered, and the figures show the
// line: the median time to first token is at least a round trip, and no token is counted twice.
func TestFaultLossyLink(t *testing.T) {
	bin := program(t)
	l := openLink(t, 0.01, 50*time.Millisecond)
	far := strings.Fields("ip netns exec " + l.names[1])
	ready := t.TempDir() + "/ready"
	server := exec.Command(far[0], append(far[1:], bin, "--quiet", "sim", "--listen", farAddress+":0", "--ready-file",
		ready, "--ttft", "5ms", "--tpot", "1ms",
		"--answers", "random", "--output-tokens", "64", "--model", "m")...)
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-server.Process.Pid, syscall.SIGTERM) // only its end matters
		_ = server.Wait()
	})
	var url string
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		return err == nil && url != ""
	}, 30*time.Second, 10*time.Millisecond)
	r := startIn(t, []string{"ip", "netns", "exec", l.names[0]}, "--served-model", "m", "--dataset", faultSet(t, "", 64),
		"--endpoint", url, "--min-queries", "600", "--min-duration", "0",
		"--max-tokens", "64", "--no-preflight-query", "--model", "generic", "--scenario", "Server", "--target-qps", "100",
		"--backend", "vllm")
	t.Logf("TTFT mean %.0f ms p99 %.0f ms, %d repeated", 1e3*r.LatencyS.TTFT.Mean, 1e3*r.LatencyS.TTFT.P99,
		r.Samples.Retried)
	r.isValid(t) // generic has no limits, so a slow line is no fault
	require.Equal(t, r.Samples.Issued, r.Samples.Completed)
	require.EqualValues(t, 64*r.Samples.Issued, r.Tokens.Output)
	require.Greater(t, r.LatencyS.TTFT.P50, 0.100)
}
