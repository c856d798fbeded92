package sandbox

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stream keeps its beginning, reads all of the rest, and reports once that there was more.
func TestBoundedStreams(t *testing.T) {
	for _, c := range []struct {
		writes []string
		kept   string
		full   int
	}{{[]string{"ab", "cd"}, "abcd", 0}, {[]string{"abcd"}, "abcd", 0}, {[]string{"abcde"}, "abcd", 1},
		{[]string{"abcd", "", "e", "f"}, "abcd", 1}, {[]string{"abc", "def"}, "abcd", 1}, {nil, "", 0}} {
		full := 0
		b := &bounded{most: 4, full: func() { full++ }}
		for _, text := range c.writes {
			n, err := b.Write([]byte(text))
			require.NoError(t, err)
			require.Equal(t, len(text), n)
		}
		require.Equal(t, []any{c.kept, c.full}, []any{b.kept.String(), full}, c.writes)
	}
}

func TestKillsThatAGroupCounts(t *testing.T) {
	for _, h := range []*hierarchy{groupsV1, groupsV2} {
		for text, want := range map[string]bool{"": false, "oom 5\noom_kill 0\n": false, "oom 0\noom_kill 1\n": true,
			"oom_kill 12": true, "oom_kill_disable 1\nunder_oom 1\n": false, "oom_group_kill 1\n": false,
			"  oom_kill 2 \n": true} {
			g := &group{folder: t.TempDir(), hierarchy: h}
			require.False(t, g.exceeded(), "there is no file")
			require.NoError(t, os.WriteFile(filepath.Join(g.folder, h.kills), []byte(text), 0o600))
			require.Equal(t, want, g.exceeded(), "%q", text)
		}
	}
	var none *group
	require.False(t, none.exceeded())
	require.NoError(t, none.remove())
	g := &group{folder: filepath.Join(t.TempDir(), "gone")}
	require.NoError(t, g.remove())
}

func TestPathsBelowAFolder(t *testing.T) {
	for path, want := range map[string]bool{"/a": true, "/a/b": true, "/ab": false, "/": false, "/a/": true} {
		require.Equal(t, want, below(path, "/a"), path)
	}
}

// The view shows what exists, each thing once, with the targets of links; it never covers the sandbox's own folders.
func TestViewOfASandbox(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	folder, file := filepath.Join(dir, "folder"), filepath.Join(dir, "folder", "file")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	link, relative, loop := filepath.Join(dir, "link"), filepath.Join(dir, "relative"), filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, os.Symlink("folder", relative))
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	shown := func(paths ...string) ([]string, map[string]string) {
		pl := &plan{Links: map[string]string{}}
		for _, path := range paths {
			require.NoError(t, pl.show(path, 0))
		}
		var binds []string
		for _, b := range pl.Binds {
			require.Equal(t, b.Path == folder, b.Folder)
			require.False(t, b.Device)
			binds = append(binds, b.Path)
		}
		return binds, pl.Links
	}
	for _, c := range []struct {
		paths, binds []string
		links        map[string]string
	}{
		{[]string{file}, []string{file}, nil}, {[]string{file, file}, []string{file}, nil},
		{[]string{file, folder}, []string{folder}, nil}, {[]string{folder, file}, []string{folder}, nil},
		{[]string{filepath.Join(dir, "none")}, nil, nil}, {[]string{pipe}, nil, nil},
		{[]string{link}, []string{file}, map[string]string{link: file}},
		{[]string{link, link}, []string{file}, map[string]string{link: file}},
		{[]string{relative}, []string{folder}, map[string]string{relative: "folder"}},
	} {
		binds, links := shown(c.paths...)
		require.Equal(t, c.binds, binds, c.paths)
		require.Len(t, links, len(c.links))
		for path, target := range c.links {
			require.Equal(t, target, links[path])
		}
	}
	for _, path := range []string{"relative/path", "/", "/tmp", Home, Home + "/x", "/.", "/tmp/"} {
		require.ErrorContains(t, (&plan{Links: map[string]string{}}).show(path, 0), "the sandbox cannot show", path)
	}
	last := file
	for i := range 42 {
		next := filepath.Join(dir, "chain"+strings.Repeat("x", i))
		require.NoError(t, os.Symlink(last, next))
		last = next
		err := (&plan{Links: map[string]string{}}).show(next, 0)
		_, opens := os.Stat(next)
		require.Equal(t, opens == nil, err == nil, "%d links: %v", i+1, opens)
	}
	require.ErrorContains(t, (&plan{Links: map[string]string{}}).show(last, 0), "more than 40 symbolic links")
	temporary := filepath.Join(dir, "temporary")
	require.NoError(t, os.Symlink("/tmp", temporary))
	require.NoError(t, (&plan{Links: map[string]string{}}).show(temporary, 0), "the sandbox's own folder covers it")
	require.NoError(t, os.Symlink("loop", loop))
	require.NoError(t, (&plan{Links: map[string]string{}}).show(loop, 0), "it is shown as the link that it is")
}

func TestLimitsOfAPlan(t *testing.T) {
	l := &Limits{CPU: 1500 * time.Millisecond, Memory: 7, AddressSpace: 8, Space: 9, Files: 10, Processes: 11}
	whole := map[int]uint64{rlimitCPU: 2, rlimitFSize: 9, rlimitCore: 0, rlimitNProc: 11, rlimitNoFile: 10,
		rlimitMemlock: 0, rlimitMsgQ: 0, rlimitData: 7, rlimitAS: 8}
	of := func(l *Limits, without ...wall) *plan {
		pl, err := newPlan("/x", &Program{}, l, without)
		require.NoError(t, err)
		require.Len(t, pl.Binds, len(devices))
		for _, b := range pl.Binds {
			require.True(t, b.Device)
		}
		return pl
	}
	pl := of(l)
	require.Equal(t, whole, pl.Rlimits)
	require.EqualValues(t, 9, pl.Space)
	for w, resource := range map[wall]int{wallFileSize: rlimitFSize, wallData: rlimitData} {
		pl := of(l, w)
		require.NotContains(t, pl.Rlimits, resource)
		require.Len(t, pl.Rlimits, len(whole)-1)
	}
	require.EqualValues(t, math.MaxInt32, of(l, wallSpace).Space)
	l.AddressSpace, l.CPU = Unlimited, time.Millisecond
	pl = of(l)
	require.NotContains(t, pl.Rlimits, rlimitAS)
	require.EqualValues(t, 1, pl.Rlimits[rlimitCPU], "at least a second")
	_, err := newPlan("/x", &Program{View: []string{"relative"}}, l, nil)
	require.ErrorContains(t, err, "cannot show")
}

// Each limit must be set, and names and arguments must be plain.
func TestEachInputOfASandbox(t *testing.T) {
	for name, change := range map[string]func(*Limits){"wall": func(l *Limits) { l.Wall = 0 },
		"cpu": func(l *Limits) { l.CPU = 0 }, "memory": func(l *Limits) { l.Memory = 0 },
		"space": func(l *Limits) { l.Space = 0 }, "files": func(l *Limits) { l.Files = 0 },
		"processes": func(l *Limits) { l.Processes = 0 }, "output": func(l *Limits) { l.Output = -1 },
		"address space": func(l *Limits) { l.AddressSpace = 0 }} {
		l := DefaultLimits()
		require.NoError(t, check(&Program{}, &l))
		change(&l)
		require.ErrorContains(t, check(&Program{}, &l), "a limit of the sandbox is not set", name)
	}
	l := DefaultLimits()
	l.AddressSpace = Unlimited
	require.NoError(t, check(&Program{Files: map[string][]byte{"a.b": nil, "...": nil}}, &l))
	for _, name := range []string{"", ".", "..", "a/b", "/a", "a\x00"} {
		require.Error(t, check(&Program{Files: map[string][]byte{name: nil}}, &l), "%q", name)
	}
	for _, p := range []Program{{Path: "\x00"}, {Args: []string{"a", "b\x00"}}, {Env: []string{"A=\x00"}}} {
		require.ErrorContains(t, check(&p, &l), "zero byte")
	}
	require.True(t, (&Result{}).OK())
	require.False(t, (&Result{Code: 1}).OK())
	require.False(t, (&Result{End: AtWall}).OK())
}

// The memory of this process counts, and an ended process counts as nothing.
func TestMemoryThatCounts(t *testing.T) {
	require.Greater(t, processBytes(os.Getpid()), int64(1<<20))
	require.Zero(t, processBytes(1<<22+5))
	require.Zero(t, fileBytes(1<<22+5, "/tmp"))
	require.Zero(t, fileBytes(os.Getpid(), "/tmp"), "the same file system as this process's")
	require.EqualValues(t, 4096, socketDefault(" 4096\n"))
	require.EqualValues(t, 212992, socketDefault("none"), "the kernel's")
	before := tally{processes: map[int]bool{}, objects: map[string]bool{}}
	before.descriptors(os.Getpid())
	r, w, err := os.Pipe()
	require.NoError(t, err)
	after := tally{processes: map[int]bool{}, objects: map[string]bool{}}
	after.descriptors(os.Getpid())
	require.NoError(t, r.Close())
	require.NoError(t, w.Close())
	require.EqualValues(t, pipeBytes, after.sum-before.sum, "both ends are one pipe")
	require.GreaterOrEqual(t, socketBytes(), int64(4096))
}

func TestKernelsThatCountPerNamespace(t *testing.T) {
	for release, old := range map[string]bool{"": true, "x": true, "4.20.1": true, "5.13.19-x": true, "5.14.0": false,
		"5.15": false, "6.0": false, "6.1.2-generic": false} {
		require.Equal(t, old, oldKernel(release), release)
	}
}

// Root of a namespace of users is an ordinary user of the machine.
func TestRootOfTheMachine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "uid_map")
	require.True(t, realRoot(0, file))
	require.False(t, realRoot(1000, file))
	for text, want := range map[string]bool{"         0          0 4294967295\n": true, "0 1000 1\n": false,
		"0 0 1\n": false, "0 0 4294967295\n1 1 1\n": false, "": false} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Equal(t, want, realRoot(0, file), "%q", text)
		require.False(t, realRoot(1000, file), "%q", text)
	}
}

// Programs that models write are scored within these limits, so a change changes scores.
func TestDefaultLimits(t *testing.T) {
	require.Equal(t, Limits{Wall: 10 * time.Second, CPU: 10 * time.Second, Memory: 1 << 30, AddressSpace: 4 << 30,
		Space: 64 << 20, Files: 128, Processes: 64, Output: 1 << 20}, DefaultLimits())
}
