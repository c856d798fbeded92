package hostinfo

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestRoom(t *testing.T) {
	need := NeededRoom(1<<30, 256<<20)
	require.Greater(t, need.AddressSpace, uint64(2<<30))
	require.NoError(t, CheckRoom(Room{}))
	for _, l := range limits {
		own := uint64(0)
		if l.used != nil {
			own = l.used()
			require.Positive(t, own, "this process has threads")
			l.used = func() uint64 { return own }
		}
		want := l.need(need) + own
		require.NoError(t, l.check(unix.RLIM_INFINITY, need))
		require.NoError(t, l.check(want, need))
		err := l.check(want-1, need)
		if l.resource == unix.RLIMIT_NPROC && os.Geteuid() == 0 {
			require.NoError(t, err, "the kernel spares root")
			continue
		}
		require.ErrorContains(t, err, l.name)
		require.ErrorContains(t, err, l.raise)
	}
}

// CheckRoom uses the limits of this process.
func TestCheckRoom(t *testing.T) {
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	low := unix.Rlimit{Cur: min(1<<40, old.Max), Max: old.Max}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &low))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old)) }()
	require.NoError(t, CheckRoom(Room{FileSize: low.Cur}))
	require.ErrorContains(t, CheckRoom(Room{FileSize: low.Cur + 1}), "RLIMIT_FSIZE")
}

// A control group's limit counts, and that of each group above it, in both versions.
func TestCheckPIDs(t *testing.T) {
	for _, c := range []struct {
		self, group, limit, used string
		refused                  bool
	}{
		{"0::/a/b", "sys/fs/cgroup/a/b", "100", "60", false},
		{"0::/a/b", "sys/fs/cgroup/a/b", "99", "60", true},
		{"0::/a/b", "sys/fs/cgroup/a", "99", "60", true},
		{"0::/", "sys/fs/cgroup", "99", "60", true},
		{"0::/../../x", "sys/fs/cgroup/x", "99", "60", true},
		{"0::/a/b", "sys/fs/cgroup/a/b", "max", "60", false},
		{"0::/a/b", "sys/fs/cgroup/a/b", "99", "", false},
		{"4:memory:/m\n3:pids:/a", "sys/fs/cgroup/pids/a", "99", "60", true},
		{"4:memory:/a", "sys/fs/cgroup/a", "99", "60", false},
		{"junk", "sys/fs/cgroup", "99", "60", false},
	} {
		root := t.TempDir()
		for path, text := range map[string]string{"proc/self/cgroup": c.self + "\n", c.group + "/pids.max": c.limit + "\n",
			c.group + "/pids.current": c.used + "\n"} {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o644))
		}
		err := checkPIDs(root, 40)
		require.Equal(t, c.refused, err != nil, "%+v: %v", c, err)
		if c.refused {
			require.ErrorContains(t, err, "(pids.max) is 99, 60 of them in use, but the test needs 100")
		}
	}
}

// During a test only the limits of memory that are set are compared.
func TestRoomLimited(t *testing.T) {
	for resource, want := range map[int]bool{unix.RLIMIT_AS: true, unix.RLIMIT_DATA: true, unix.RLIMIT_FSIZE: false,
		unix.RLIMIT_NPROC: false, -1: false} {
		require.Equal(t, want, roomLimited(func(of int) uint64 {
			if of == resource {
				return 1 << 40
			}
			return unix.RLIM_INFINITY
		}), resource)
	}
}

func TestRoomLeft(t *testing.T) {
	require.NoError(t, RoomLeft(), "tests have no limits")
	page := uint64(os.Getpagesize())
	limitOf := func(as, data uint64) func(int) uint64 {
		return func(resource int) uint64 {
			return map[int]uint64{unix.RLIMIT_AS: as, unix.RLIMIT_DATA: data}[resource]
		}
	}
	const none = unix.RLIM_INFINITY
	statm := fmt.Sprintf("%d 5 6 7 0 %d 0\n", 1<<30/page, 100<<20/page)
	for _, c := range []struct {
		as, data uint64
		want     string
	}{
		{none, none, ""},
		{1<<30 + 160<<20, none, ""},
		{1<<30 + 159<<20, none, "the limit of the address space (RLIMIT_AS) is 1183 MiB, and 1024 are in use"},
		{none, 148 << 20, ""},
		{none, 147 << 20, "RLIMIT_DATA) is 147 MiB, and 100 are in use: raise it (ulimit -d unlimited"},
	} {
		err := roomLeft(statm, limitOf(c.as, c.data))
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
		require.ErrorIs(t, err, ErrRoom)
	}
	for _, text := range []string{"", "x", "x 1 1 1 1 y 1"} {
		require.NoError(t, roomLeft(text, limitOf(0, 0)), "another format says nothing")
	}
}
