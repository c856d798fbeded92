package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// through is the output of a probe that gets through a wall.
const through = "THROUGH"

// TestEachWallHolds probes every wall twice. In the first run the other walls that would stop the probe are off; in the
// second run this wall is off too. The second run shows that the probe succeeds if nothing stops it.
func TestEachWallHolds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() }) // runs after the parallel tests
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	// A file that this process has open and that its children inherit.
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("inherited"), 0o600))
	inherited, err := unix.Open(secret, unix.O_RDONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(inherited) })

	const libc = "import ctypes, mmap, os, socket\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.syscall.restype = " +
		"ctypes.c_long\n"
	const hold = 300 << 20
	small := roomy()
	small.Memory, small.AddressSpace = 128<<20, 8<<30
	for _, c := range []struct {
		name, code string
		limits     Limits
		off        []wall // other walls that would stop the probe
		wall       wall
		ends       []End // ends that show that the wall stopped the probe; ByItself: the probe fails
	}{
		{"network namespace", fmt.Sprintf("socket.create_connection(('127.0.0.1', %d), 5)",
			listener.Addr().(*net.TCPAddr).Port), roomy(), []wall{wallFilter}, wallNetwork, []End{ByItself}},
		{"capabilities", "assert libc.sethostname(b'mine', 4) == 0", roomy(), []wall{wallFilter, wallUser}, wallCapabilities,
			[]End{ByItself}},
		{"file descriptors", fmt.Sprintf("assert os.pread(%d, 100, 0) == b'inherited'", inherited), roomy(), nil,
			wallDescriptors, []End{ByItself}},
		{"file size", "open('big', 'wb').write(b'x' * (65 << 20))", roomy(), []wall{wallSpace}, wallFileSize,
			[]End{ByItself}},
		{"space", "for i in range(3): open(f'f{i}', 'wb').write(b'x' * (30 << 20))", roomy(),
			[]wall{wallFileSize, wallGroup, wallWatch}, wallSpace, []End{ByItself}},
		// Shared memory that no process maps any more: its pages count for no process.
		{"shared memory, by the filter", fmt.Sprintf("m = mmap.mmap(-1, %d)", hold), roomy(),
			[]wall{wallGroup, wallWatch, wallData}, wallFilter, []End{ByItself}},
		{"shared memory, by the group", shares(hold), small, []wall{wallFilter, wallWatch, wallData}, wallGroup,
			[]End{AtMemory}},
		{"own memory, by the watch", takes(hold), small, []wall{wallGroup, wallData}, wallWatch, []End{AtMemory}},
		{"own memory, by the group", takes(hold), small, []wall{wallWatch, wallData}, wallGroup, []End{AtMemory}},
		{"own memory, by the limit of a process", takes(hold), small, []wall{wallWatch, wallGroup}, wallData,
			[]End{ByItself}},
		{"files in memory, by the watch", "for i in range(3): open(f'/tmp/f{i}', 'wb').write(b'x' * (60 << " +
			"20))\ntime.sleep(0.5)", small, []wall{wallGroup, wallSpace}, wallWatch, []End{AtMemory}},
		{"sockets, by the watch", sockets, small, []wall{wallGroup}, wallWatch, []End{AtMemory}},
		// the kernel may reject the request instead
		{"sockets, by the group", sockets, small, []wall{wallWatch}, wallGroup, []End{AtMemory, ByItself}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.wall == wallGroup {
				requireGroups(t)
			}
			code := libc + "import time\n" + c.code + "\nprint('" + through + "', flush=True)"
			r, err := runWithout(t.Context(), python(t, code), c.limits, c.off...)
			require.NoError(t, err)
			require.NotContains(t, string(r.Stdout), through, "the wall has a hole")
			require.Contains(t, c.ends, r.End, "%s", r.Stderr)
			require.False(t, r.OK())
			r, err = runWithout(t.Context(), python(t, code), c.limits, append(slices.Clone(c.off), c.wall)...)
			require.NoError(t, err)
			require.Contains(t, string(r.Stdout), through, "the probe is stopped by something else: %s %s", r.End, r.Stderr)
		})
	}
}

// TestLimitsArrive runs a program that reads its limits from the kernel.
func TestLimitsArrive(t *testing.T) {
	l := roomy()
	want := map[string]uint64{
		"CPU": uint64(l.CPU / time.Second), "FSIZE": uint64(l.Space), "DATA": uint64(l.Memory), "CORE": 0,
		"NPROC": uint64(l.Processes), "NOFILE": uint64(l.Files),
		"MEMLOCK": 0, "AS": uint64(l.AddressSpace), "MSGQUEUE": 0,
	}
	var code strings.Builder
	code.WriteString("import resource\nresource.RLIMIT_MSGQUEUE = 12\n")
	for name, limit := range want {
		fmt.Fprintf(&code, "assert resource.prlimit(0, resource.RLIMIT_%s) == (%d, %d), '%s'\n", name, limit, limit, name)
	}
	r := run(t, python(t, code.String()), l)
	require.True(t, r.OK(), "%s %s", r.End, r.Stderr)
}

// TestLimitsOfAnOrdinaryUser repeats the tests of limits on processes as a user who is not root, whose sandbox maps no
// second user.
func TestLimitsOfAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user, so the other tests are these")
	}
	const user = 54321 // user id that owns no files
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^(TestEnds|TestLimitsArrive)$/^(fork_bomb|threads)$")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/tmp"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "--- SKIP") {
		t.Skipf("no sandbox for an ordinary user here: %v\n%s", err, out)
	}
	require.NoError(t, err, string(out))
	for _, test := range []string{"TestEnds/fork_bomb", "TestEnds/threads", "TestLimitsArrive"} {
		require.Contains(t, string(out), "--- PASS: "+test+" ", string(out))
	}
}

// shares returns a program that keeps shared memory which no process maps.
func shares(bytes int) string {
	return fmt.Sprintf("m = mmap.mmap(-1, %d)\nfor i in range(0, len(m), 10 << 20):\n  m[i:i + (10 << 20)] = b'x' * (10 "+
		"<< 20)\n  m.madvise(mmap.MADV_DONTNEED)\ntime.sleep(0.2)\nassert m[1] == ord('x')", bytes)
}

func takes(bytes int) string {
	return fmt.Sprintf("a = []\nfor i in range(%d):\n  a.append(bytearray(b'x' * (1 << 20)))\ntime.sleep(0.2)", bytes>>20)
}

// sockets is a program that keeps about 400 MB in pairs of sockets.
const sockets = `read, write = os.pipe()
def hold():
  pairs = []
  for i in range(60):
    pair = socket.socketpair()
    pairs.append(pair)
    for s in pair:
      s.setblocking(False)
      try:
        while True: s.send(b'x' * 30000)
      except BlockingIOError: pass
  os.write(write, b'x')
  time.sleep(30)
for i in range(16):
  if os.fork() == 0:
    try: hold()
    except OSError: os.write(write, b'-')
    os._exit(0)
for i in range(16): assert os.read(read, 1) == b'x'
time.sleep(0.2)`

// TestForeignCallsKill checks that calls of another architecture or ABI, whose numbers the filter cannot interpret,
// kill the program.
func TestForeignCallsKill(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x32 and i386 are of x86-64")
	}
	const call = "import ctypes, mmap\nlibc = ctypes.CDLL(None)\n"
	r := run(t, python(t, call+"libc.syscall(0x40000000 | 39)\nprint('"+through+"')"), roomy())
	require.Equal(t, []any{BySignal, syscall.SIGSYS}, []any{r.End, r.Signal}, "x32: %s %s", r.Stdout, r.Stderr)
	// mov eax, 20; int 0x80; ret: getpid of i386, whose number is that of writev.
	machine := "m = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, " +
		"prot=7)\nm.write(bytes.fromhex('b814000000cd80c3'))\n" +
		"ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()\nprint('" + through + "')"
	r = run(t, python(t, call+machine), roomy())
	require.Equal(t, BySignal, r.End, "i386: %s %s", r.Stdout, r.Stderr)
	require.Contains(t, []syscall.Signal{syscall.SIGSYS, syscall.SIGSEGV}, r.Signal, "SIGSEGV: the kernel has no i386")
}

// parentName is argument 0 with which this test binary runs a sandbox and is then killed.
const parentName = "sandbox test: parent"

// TestEndsWithItsParent kills the process that runs a sandbox. The program in the sandbox has disabled the signal at
// its parent's death.
func TestEndsWithItsParent(t *testing.T) {
	walls(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{parentName}
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // the killed process cannot clean up
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	if strings.HasPrefix(line, "skip") {
		_ = cmd.Wait()
		t.Skip(line)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	ended := func() bool { // true also if its new parent has not waited for it yet
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}
	defer func() {
		if !ended() {
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
	}()
	require.Eventually(t, ended, 20*time.Second, 10*time.Millisecond, "the program has outlived its parent")
}

// beParent runs a program that tries to survive, and prints its process number when it is ready.
func beParent() {
	const code = "import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.prctl(1, 0, 0, 0, 0)\nprint('asked', " +
		"flush=True)\ntime.sleep(1000)"
	p := pythonHere()
	if p == nil {
		fmt.Println("skip: there is no python3 here")
		return
	}
	p.Files = map[string][]byte{"main.py": []byte(code)}
	go func() {
		for {
			if child, sleeps := sleepingChild(); sleeps {
				fmt.Println(child)
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	_, _ = Run(context.Background(), *p, roomy())
}

// sleepingChild returns the only child of this process, and whether it is a python that sleeps.
func sleepingChild() (string, bool) {
	threads, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return "", false
	}
	for _, name := range threads {
		text, _ := os.ReadFile(name) // empty if the thread has ended
		child := strings.TrimSpace(string(text))
		if child == "" {
			continue
		}
		name, _ := os.ReadFile("/proc/" + child + "/comm")
		waits, _ := os.ReadFile("/proc/" + child + "/wchan")
		return child, strings.HasPrefix(string(name), "python") && strings.Contains(string(waits), "nanosleep")
	}
	return "", false
}
