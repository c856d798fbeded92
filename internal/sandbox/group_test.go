package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// requireGroups skips a test if this process cannot make control groups for memory.
func requireGroups(t *testing.T) *groupPlace {
	t.Helper()
	place := findGroups()
	if place == nil {
		t.Skip("there is no control group for memory here")
	}
	return place
}

// TestMemoryIsGivenBack checks that no control group remains, however a program ended.
func TestMemoryIsGivenBack(t *testing.T) {
	place := requireGroups(t)
	l := roomy()
	l.Memory, l.Wall = 64<<20, 2*time.Second
	for _, code := range []string{"pass", takes(200 << 20),
		"import os, time\nif os.fork() == 0: time.sleep(100)\ntime.sleep(100)"} {
		_ = run(t, python(t, code), l)
	}
	require.Empty(t, groupsOf(t, place))
}

// groupsOf returns the control groups that this process made.
func groupsOf(t *testing.T, place *groupPlace) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(place.folder, ownGroups+"*"))
	require.NoError(t, err)
	return left
}

// A group goes when its last process has ended, and one that stays busy is reported.
func TestGroupWithProcesses(t *testing.T) {
	place := requireGroups(t)
	sleep := exec.Command("sleep", "1000")
	require.NoError(t, sleep.Start())
	waited := make(chan error, 1)
	g := place.grouped(sleep.Process.Pid, 1<<30)
	require.NotNil(t, g)
	require.Len(t, groupsOf(t, place), 1)
	own, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", sleep.Process.Pid))
	require.NoError(t, err)
	require.Contains(t, string(own), filepath.Base(g.folder)+"\n")
	most, err := os.ReadFile(filepath.Join(g.folder, g.limits[0].name))
	require.NoError(t, err)
	require.Equal(t, "1073741824\n", string(most))

	require.ErrorIs(t, g.remove(), syscall.EBUSY)
	require.DirExists(t, g.folder)
	require.ErrorIs(t, g.owner.Close(), os.ErrClosed, "a later process may remove it")
	go func() {
		time.Sleep(200 * time.Millisecond) // remove waits longer
		waited <- errors.Join(sleep.Process.Kill(), ignoreExit(sleep.Wait()))
	}()
	require.NoError(t, g.remove())
	require.NoError(t, <-waited)
	require.Empty(t, groupsOf(t, place))

	require.Nil(t, place.grouped(1<<22+5, 1<<30), "there is no such process")
	require.Empty(t, groupsOf(t, place))
}

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// Limits are files. An optional one may be missing, and nothing remains of a group without a needed one.
func TestLimitsOfAGroup(t *testing.T) {
	for _, c := range []struct {
		h    *hierarchy
		want map[string]string
	}{
		{groupsV1, map[string]string{"memory.limit_in_bytes": "77", "memory.memsw.limit_in_bytes": "77"}},
		{groupsV2, map[string]string{"memory.max": "77", "memory.swap.max": "0", "memory.oom.group": "1"}},
		{&hierarchy{limits: []groupFile{{name: "b"}, {name: "none/a"}}}, map[string]string{"b": "77"}},
	} {
		g := (&groupPlace{c.h, t.TempDir()}).grouped(123, 77)
		require.NotNil(t, g)
		require.Regexp(t, groupName, filepath.Base(g.folder))
		got := map[string]string{}
		entries, err := os.ReadDir(g.folder)
		require.NoError(t, err)
		for _, e := range entries {
			path := filepath.Join(g.folder, e.Name())
			require.NoError(t, os.Chmod(path, 0o600))
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			got[e.Name()] = string(text)
		}
		c.want["cgroup.procs"] = "123"
		require.Equal(t, c.want, got)
		require.NoError(t, g.owner.Close())
	}
	place := &groupPlace{&hierarchy{limits: []groupFile{{name: "none/a"}}}, t.TempDir()}
	_, err := place.newGroup(77)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NotContains(t, err.Error(), "removing")
	require.Nil(t, place.grouped(123, 77))
	left, err := os.ReadDir(place.folder)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = (&groupPlace{&hierarchy{limits: []groupFile{{name: "b"}, {name: "."}}}, t.TempDir()}).newGroup(77)
	require.ErrorContains(t, err, "is a directory", "an optional limit that exists must be set")
	gone := &groupPlace{groupsV1, filepath.Join(t.TempDir(), "gone")}
	_, err = gone.newGroup(77)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Nil(t, gone.grouped(123, 77))
	var none *groupPlace
	require.Nil(t, none.grouped(123, 77))
	none.sweep()
}

// Groups of ended processes are removed, and those of running ones, new ones and others stay.
func TestLeftGroups(t *testing.T) {
	place := &groupPlace{&hierarchy{}, t.TempDir()}
	old := time.Now().Add(-2 * sweepAfter)
	stay := []string{"other-1-2", groupPrefix + "1-c", groupPrefix + "1-2-3", "x" + groupPrefix + "1-2"}
	for _, name := range append(stay, groupPrefix+"1-4", groupPrefix+"4194399-5") {
		require.NoError(t, os.Mkdir(filepath.Join(place.folder, name), 0o700))
	}
	file, link, busy := filepath.Join(place.folder, groupPrefix+"1-6"), filepath.Join(place.folder, groupPrefix+"1-7"),
		filepath.Join(place.folder, groupPrefix+"1-8")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(busy, "x"), 0o700))
	require.NoError(t, os.Symlink(t.TempDir(), link))
	own, err := place.newGroup(77)
	require.NoError(t, err)
	stay = append(stay, filepath.Base(file), filepath.Base(link), filepath.Base(busy), filepath.Base(own.folder))
	names := func() (list []string) {
		entries, err := os.ReadDir(place.folder)
		require.NoError(t, err)
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	before := names()
	place.sweep()
	require.Equal(t, before, names(), "they are new")
	for _, name := range before {
		times := []unix.Timespec{unix.NsecToTimespec(old.UnixNano()), unix.NsecToTimespec(old.UnixNano())}
		require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(place.folder, name), times,
			unix.AT_SYMLINK_NOFOLLOW))
	}
	place.sweep()
	require.ElementsMatch(t, stay, names())
	require.NoError(t, own.owner.Close(), "as the kernel does when this process ends")
	place.sweep()
	require.NotContains(t, names(), filepath.Base(own.folder))

	if place := findGroups(); place != nil { // a real one, which only rmdir removes
		own, err := place.newGroup(1 << 30)
		require.NoError(t, err)
		require.NoError(t, os.Chtimes(own.folder, old, old))
		place.sweep()
		require.DirExists(t, own.folder)
		require.NoError(t, own.owner.Close())
		require.Equal(t, place, searchGroups())
		require.NoDirExists(t, own.folder)
	}
}

func TestGroupFolder(t *testing.T) {
	root := t.TempDir()
	own := filepath.Join(root, "v2/user.slice/app.slice/one.scope")
	require.NoError(t, os.MkdirAll(own, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "v1/docker/x"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(own, "cgroup.type"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "v2/cgroup.subtree_control"), []byte("cpu memory\n"), 0o644))
	handed := filepath.Join(filepath.Dir(own), "cgroup.subtree_control")
	require.NoError(t, os.WriteFile(handed, []byte("memory pids\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "v1/docker/x/cgroup.subtree_control"), []byte("memory"), 0o644))
	const line = "31 23 0:27 %s %s rw,nosuid - %s cgroup rw,%s\n"
	v1, v2 := fmt.Sprintf(line, "/", root+"/v1", "cgroup", "memory"),
		fmt.Sprintf(line, "/", root+"/v2", "cgroup2", "nsdelegate")
	for _, c := range []struct {
		name, own, mounts, want string
		kind                    *hierarchy
	}{
		{"v1", "4:memory:/docker/x\n0::/user.slice/app.slice/one.scope\n", v2 + v1, "v1/docker/x", groupsV1},
		{"v1 below a mounted part", "4:cpu,memory:/docker/x\n",
			fmt.Sprintf(line, "/docker", root+"/v1/docker", "cgroup", "memory"), "v1/docker/x", groupsV1},
		{"v1 is not mounted", "4:memory:/docker/x\n0::/user.slice/app.slice/one.scope\n", v2, "v2/user.slice/app.slice",
			groupsV2},
		{"v2 beside its own", "0::/user.slice/app.slice/one.scope\n", v2, "v2/user.slice/app.slice", groupsV2},
		{"v2 in the root", "0::/\n", v2, "v2", groupsV2},
		{"a hierarchy without controllers", "1:name=systemd:/x\n3::/docker/x\nx\n4:memory:/docker/x\n", "1 2\n" + v1,
			"v1/docker/x", groupsV1},
		{"another controller", "4:cpu:/docker/x\n", fmt.Sprintf(line, "/", root+"/v1", "cgroup", "cpu"), "", nil},
		{"the path of another controller", "4:cpu:/docker/x\n", v1, "", nil},
		{"mounted with another controller", "4:memory:/docker/x\n", fmt.Sprintf(line, "/", root+"/v1", "cgroup", "cpu"), "",
			nil},
		{"not mounted", "4:memory:/docker/x\n", "", "", nil},
		{"a cut end", "4:memory:/docker/x\n", "31 23 0:27 / " + root + "/v1 rw - cgroup\n", "", nil},
		{"a cut beginning", "4:memory:/docker/x\n", "31 23 - cgroup cgroup rw,memory\n", "", nil},
		{"v2 is not mounted", "0::/docker/x\n", v1, "", nil},
		{"above the mounted part", "4:memory:/other\n", fmt.Sprintf(line, "/docker", root+"/v1", "cgroup", "memory"), "",
			nil},
		{"gone", "4:memory:/other\n", v1, "", nil},
		{"v2 without memory", "0::/user.slice\n", v2, "", nil},
		{"nothing", "", v1 + v2, "", nil},
	} {
		place := groupFolder(c.own, c.mounts)
		if c.want == "" {
			require.Nil(t, place, c.name)
			continue
		}
		require.Equal(t, &groupPlace{c.kind, filepath.Join(root, c.want)}, place, c.name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(own, "cgroup.subtree_control"), []byte("memory"), 0o644))
	t.Chdir(own)
	require.Nil(t, groupFolder("0::/x\n", ""), "the working folder is no place")
}
