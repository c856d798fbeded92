package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	Enter(os.Args, os.Environ())
	switch os.Args[0] {
	case parentName:
		beParent()
	case buildsName:
		buildWalls()
	case childName, returnedName:
		fmt.Print(returned)
	default:
		goleak.VerifyTestMain(m)
	}
}

// walls skips a test if the kernel does not allow what the sandbox is built of. Where it does, the sandbox must work.
func walls(t testing.TB) {
	t.Helper()
	if err := allowsWalls(); err != nil {
		t.Skip(err)
	}
	require.NoError(t, Available(t.Context()))
}

// buildsName is argument 0 with which this test binary builds parts of a sandbox without the package's code.
const buildsName = "sandbox test: builds walls"

// allowsWalls reports why this user cannot build a sandbox here; nil: it can.
var allowsWalls = sync.OnceValue(func() error {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil || oldKernel(string(release)) {
		return fmt.Errorf("the kernel is too old for a sandbox: %s %w", release, err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{buildsName}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("this user cannot build a sandbox here: %w\n%s", err, out)
	}
	return nil
})

func buildWalls() {
	err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("tmpfs", "/tmp", "tmpfs", 0, ""), unix.MountSetattr(unix.AT_FDCWD, "/tmp", 0,
			&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}), os.Chdir("/tmp"), unix.PivotRoot(".", "."))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// python returns a program in Python with the interpreter's files in its view.
func python(t testing.TB, code string) Program {
	t.Helper()
	walls(t)
	p := pythonHere()
	if p == nil {
		t.Skip("there is no python3 here")
	}
	p.Files = map[string][]byte{"main.py": []byte(code)}
	return *p
}

// pythonHere returns a program that runs main.py, or nil if there is no python3.
var pythonHere = sync.OnceValue(func() *Program {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable); print(sys.base_prefix)").Output()
	if err != nil {
		return nil
	}
	lines := strings.Fields(string(out))
	view := []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", lines[0]}
	if lines[1] != "/usr" {
		view = append(view, lines[1])
	}
	return &Program{Path: lines[0], Args: []string{"-I", "-B", "main.py"}, View: view}
})

// roomy returns limits that only a misbehaving program reaches, even on a busy machine.
func roomy() Limits {
	l := DefaultLimits()
	l.Wall, l.CPU = 2*time.Minute, time.Minute
	return l
}

// privileged reports whether the machine's root runs the tests.
func privileged() bool { return realRoot(os.Geteuid(), "/proc/self/uid_map") }

func run(t testing.TB, p Program, l Limits) *Result {
	t.Helper()
	r, err := Run(context.Background(), p, l) // never cancelled, so that goleak finds what Run leaves
	require.NoError(t, err)
	return r
}

func TestRuns(t *testing.T) {
	p := python(t, "import sys, os\nprint(sys.stdin.read()[::-1], os.environ['A'], os.getcwd(), "+
		"os.getpid())\nopen('made','w').write('x')\nprint(sorted(os.listdir()))\nsys.stderr.write('oops')\nsys.exit(3)")
	p.Stdin, p.Env = []byte("abc"), []string{"A=b"}
	r := run(t, p, roomy())
	require.Equal(t, "cba b /work 1\n['made', 'main.py']\n", string(r.Stdout), string(r.Stderr))
	require.Equal(t, "oops", string(r.Stderr))
	require.Equal(t, 3, r.Code)
	require.Equal(t, ByItself, r.End)
	require.False(t, r.OK())
}

// TestReachesNothing tries actions that a program must not be able to perform. Each prints its result, and none may
// succeed.
func TestReachesNothing(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("mine"), 0o644))
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	const call = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\ndef call(*a):\n  r = libc.syscall(*a)\n  " +
		"if r < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))\n  return r\n"
	cases := []struct{ name, code, want string }{
		{"connect", fmt.Sprintf("import socket\nsocket.create_connection(('127.0.0.1', %d), 5)",
			server.Addr().(*net.TCPAddr).Port), "PermissionError"},
		{"raw packets", "import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)", "PermissionError"},
		{"unix socket", "import socket\nsocket.socket(socket.AF_UNIX)", "PermissionError"},
		{"write outside", "open('/usr/lib/x', 'w')", "Read-only file system"},
		{"write into the root", "open('/x', 'w')", "Read-only file system"},
		{"write over its own interpreter", "import sys\nopen(sys.executable, 'r+')", "Error"},
		{"shadow", "open('/etc/shadow')", "FileNotFoundError"},
		{"passwd", "open('/etc/passwd')", "FileNotFoundError"},
		{"the user's file", fmt.Sprintf("open(%q)", secret), "FileNotFoundError"},
		{"climbing out", "open('/../../../../etc/shadow')", "FileNotFoundError"},
		{"processes of others", "import os\nos.listdir('/proc/1')", "FileNotFoundError"},
		{"devices", "import os\nos.listdir('/sys')", "FileNotFoundError"},
		{"disk", "import os\nos.mknod('/work/disk', 0o060666, os.makedev(8, 0))", "Operation not permitted"},
		{"signal to others", "import os\nos.kill(2, 9)", "ProcessLookupError"},
		{"ptrace", call + "call(101 if os.uname().machine == 'x86_64' else 117, 0, 0, 0, 0)", "Operation not permitted"},
		{"mount", call + "call(165 if os.uname().machine == 'x86_64' else 40, b'none', b'/work', b'tmpfs', 0, 0)",
			"Operation not permitted"},
		{"another namespace", call + "call(272 if os.uname().machine == 'x86_64' else 97, 0x10000000)",
			"Operation not permitted"},
		{"clone into a namespace", call + "call(56 if os.uname().machine == 'x86_64' else 220, 0x10000000 | 17, 0, 0, 0, 0)",
			"Operation not permitted"},
		{"clone3", call + "call(435, 0, 0)", "Function not implemented"},
		{"memory that no limit counts", call + "call(319 if os.uname().machine == 'x86_64' else 279, b'x', 0)",
			"Function not implemented"},
		{"asynchronous input", call + "call(425, 8, 0)", "Function not implemented"},
		{"outliving its parent", call + "call(157 if os.uname().machine == 'x86_64' else 167, 1, 0, 0, 0, 0)",
			"Operation not permitted"},
		{"a larger pipe", "import fcntl, os\nfcntl.fcntl(os.pipe()[1], 1031, 1 << 20)", "Operation not permitted"},
		{"a larger socket", "import socket\nsocket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)",
			"Operation not permitted"},
		{"memory without a file", "import mmap\nmmap.mmap(-1, 4096)", "Cannot allocate memory"},
		{"memory without a file, by its device", "open('/dev/zero')", "FileNotFoundError"},
		{"another user", "import os\nos.setuid(0)", "Operation not permitted"},
		{"raising a limit", "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (9999, 9999))",
			"not allowed to raise maximum limit"},
	}
	// One interpreter tries all actions. Each action is a function, and its exception is printed.
	var code strings.Builder
	for i, c := range cases {
		fmt.Fprintf(&code, "def try%d():\n  %s\n", i, strings.ReplaceAll(c.code, "\n", "\n  "))
	}
	fmt.Fprintf(&code, "for i in range(%d):\n  try:\n    globals()[f'try{i}']()\n    print(i, 'REACHED')\n  except "+
		"BaseException as e: print(i, repr(e))\n", len(cases))
	fmt.Fprintf(&code, "import os\nprint('root:', *os.listdir('/'))\nprint('etc:', *os.listdir('/etc'))\nprint('home:', "+
		"*(os.listdir(%[1]q) if os.path.isdir(%[1]q) else []))\n", home)
	p := python(t, code.String())
	r := run(t, p, roomy())
	require.True(t, r.OK(), "%s", r.Stderr)
	lines := strings.Split(string(r.Stdout), "\n")
	for i, c := range cases {
		require.NotContains(t, lines[i], "REACHED", c.name)
		require.Contains(t, lines[i], c.want, c.name)
	}
	require.Subset(t, []string{"root:", "dev", "etc", "lib", "lib64", "root", "tmp", "usr", "work", "opt", "home"},
		strings.Fields(lines[len(cases)]), "what leads to the interpreter, and nothing else")
	require.Equal(t, "etc: ld.so.cache", lines[len(cases)+1])
	for _, name := range strings.Fields(lines[len(cases)+2])[1:] {
		require.Contains(t, strings.Join(p.View, " "), filepath.Join(home, name),
			"of the user's home only what leads to the interpreter is there")
	}
}

// TestEnds runs programs that never end or exhaust a resource. The sandbox must end each and report the reason.
func TestEnds(t *testing.T) {
	with := func(change func(*Limits)) Limits {
		l := roomy()
		change(&l)
		return l
	}
	second := with(func(l *Limits) { l.Wall = time.Second })
	for _, c := range []struct {
		name, code string
		limits     Limits
		want       func(t *testing.T, r *Result)
	}{
		{"sleeps", "import time\ntime.sleep(1000)", second, ends(AtWall)},
		{"sleeps deaf", "import signal, time\nfor s in range(1, 32):\n  try: signal.signal(s, signal.SIG_IGN)\n  except " +
			"OSError: pass\ntime.sleep(1000)", second, ends(AtWall)},
		{"spins", "while True: pass", with(func(l *Limits) { l.CPU = time.Second }), ends(AtCPUTime)},
		{"prints for ever", "while True: print('x' * 4096)", roomy(), func(t *testing.T, r *Result) {
			ends(AtOutput)(t, r)
			require.Len(t, r.Stdout, int(roomy().Output))
		}},
		{"complains for ever", "import sys\nwhile True: sys.stderr.write('x' * 4096)", roomy(), ends(AtOutput)},
		{"takes memory", "a = []\nwhile True: a.append(bytearray(b'x') * (1 << 22))",
			with(func(l *Limits) { l.Memory, l.AddressSpace = 256<<20, Unlimited }), fails("MemoryError")},
		{"takes addresses", "a = bytearray(8 << 30)", roomy(), fails("MemoryError")},
		{"takes memory in many processes", "import os\nfor i in range(3): os.fork()\na = bytearray(b'x') * (1 << " +
			"27)\nwhile True: pass", with(func(l *Limits) { l.Memory = 512 << 20 }), ends(AtMemory)},
		{"fills the disk", "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))", roomy(),
			fails("File too large", "No space left")},
		{"fills the disk with many files", "i = 0\nwhile True:\n  i += 1\n  open(f'f{i}', 'wb').write(b'x' * (1 << 22))",
			roomy(), fails("No space left")},
		{"makes many files", "i = 0\nwhile True:\n  i += 1\n  open(f'f{i}', 'wb').close()", roomy(), fails("No space left")},
		{"opens many files", "a = []\nwhile True: a.append(open('main.py'))", roomy(), fails("Too many open files")},
		{"fork bomb", "import os, time\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(1000)\n    n += " +
			"1\nexcept BlockingIOError: print('stopped at', n)", roomy(), func(t *testing.T, r *Result) {
			require.True(t, r.OK(), "%s %s", r.End, r.Stderr)
			require.Regexp(t, `^stopped at \d{1,2}\n$`, string(r.Stdout))
		}},
		{"fork bomb of bombs", "import os\nwhile True:\n  try: os.fork()\n  except BlockingIOError: pass", second,
			ends(AtWall)},
		{"threads", "import threading, time\nn = 0\ntry:\n  while True:\n    threading.Thread(target=time.sleep, " +
			"args=(1000,), daemon=True).start()\n    n += 1\nexcept RuntimeError: print('stopped', n < 64)", roomy(),
			func(t *testing.T, r *Result) {
				require.Equal(t, "stopped True\n", string(r.Stdout), string(r.Stderr))
			}},
		{"aborts", "import os\nos.abort()", roomy(), ends(BySignal)},
		{"kills itself by a fault", "import ctypes\nctypes.string_at(0)", roomy(), ends(BySignal)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if (strings.HasPrefix(c.name, "fork bomb") || c.name == "threads") && os.Geteuid() == 0 && !privileged() {
				t.Skip("this may be the machine's root, alone in a namespace of users, whom the kernel exempts from the limit on " +
					"processes")
			}
			c.want(t, run(t, python(t, c.code), c.limits))
		})
	}
}

func ends(want End) func(*testing.T, *Result) {
	return func(t *testing.T, r *Result) {
		require.Equal(t, want, r.End, "%s\n%s", r.Stdout, r.Stderr)
		require.False(t, r.OK())
	}
}

func fails(with ...string) func(*testing.T, *Result) {
	return func(t *testing.T, r *Result) {
		require.Equal(t, ByItself, r.End)
		require.Equal(t, 1, r.Code)
		for _, w := range with {
			if strings.Contains(string(r.Stderr), w) {
				return
			}
		}
		t.Fatalf("it failed otherwise: %s", r.Stderr)
	}
}

// TestLeavesNothingBehind starts a daemon that keeps a pipe of this process open. Reading the pipe ends only when the
// daemon has ended.
func TestLeavesNothingBehind(t *testing.T) {
	p := python(t, "import os, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    print('daemon', "+
		"flush=True)\n    time.sleep(1000)\n  os._exit(0)\ntime.sleep(0.2)\nprint('done')")
	t.Setenv("TMPDIR", t.TempDir())
	r := run(t, p, roomy())
	require.True(t, r.OK())
	require.Contains(t, string(r.Stdout), "done")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestCancelled(t *testing.T) {
	p := python(t, "import time\nprint('up', flush=True)\ntime.sleep(1000)")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := Run(ctx, p, roomy())
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Program
		l    Limits
		want string
	}{
		{"file name", Program{Files: map[string][]byte{"../x": nil}}, roomy(), "plain names"},
		{"zero byte", Program{Args: []string{"a\x00b"}}, roomy(), "zero byte"},
		{"no limits", Program{}, Limits{}, "a limit of the sandbox is not set"},
		{"relative view", Program{View: []string{"x"}}, roomy(), "absolute paths"},
		{"whole view", Program{View: []string{"/"}}, roomy(), "absolute paths"},
	} {
		_, err := Run(t.Context(), c.p, c.l)
		require.ErrorContains(t, err, c.want, c.name)
	}
	require.Contains(t, (&Unavailable{errors.New("x")}).Error(), "the program was not run")
	walls(t)
	_, err := Run(t.Context(), Program{Path: "/no/such"}, roomy())
	var u *Unavailable
	require.ErrorAs(t, err, &u)
	require.ErrorContains(t, err, "starting /no/such: no such file or directory")
}

func TestFilterFits(t *testing.T) {
	f := program()
	require.Less(t, len(f), 4096, "the kernel's limit")
	for i, s := range f {
		require.Less(t, i+int(max(s.Jt, s.Jf))+1, len(f)+1)
	}
	seen := map[uint32]bool{}
	for _, calls := range [][]uint32{allowed, allowedHere, forbidden} {
		for _, n := range calls {
			require.False(t, seen[n], "system call %d stands twice", n)
			seen[n] = true
		}
	}
	for _, e := range examined {
		require.False(t, seen[e.call], "system call %d is examined and stands in a list", e.call)
	}
}
