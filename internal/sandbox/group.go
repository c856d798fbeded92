package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// group is the control group of one sandbox. The kernel counts all memory of the program in it: pages that no process
// maps any more, files in memory, and the contents of pipes and sockets.
type group struct {
	folder string
	*hierarchy
}

// hierarchy describes how one version of control groups limits memory. Files that a kernel lacks are skipped.
type hierarchy struct {
	limits []groupFile // files with limits, written in this order
	kills  string      // name of the file with a line "oom_kill N"
	// a group with processes cannot have limited groups below it, so sandboxes are beside this process's group
	sibling bool
}

type groupFile struct {
	name   string
	value  string // value to write; empty: the memory limit in bytes
	needed bool
}

var (
	groupsV1 = &hierarchy{kills: "memory.oom_control",
		limits: []groupFile{{name: "memory.limit_in_bytes", needed: true}, {name: "memory.memsw.limit_in_bytes"}}}
	groupsV2 = &hierarchy{kills: "memory.events", sibling: true,
		limits: []groupFile{{name: "memory.max", needed: true}, {name: "memory.swap.max", value: "0"},
			{name: "memory.oom.group", value: "1"}}}
)

// groupPrefix is the prefix of group names, followed by the number of the process that made the group.
const groupPrefix = "mlperf-go-sandbox-"

// groupPlace is the folder in which this process may make groups.
type groupPlace struct {
	folder string
	*hierarchy
}

// findGroups searches for the place once and caches the result.
var findGroups = sync.OnceValues(func() (groupPlace, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return groupPlace{}, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return groupPlace{}, err
	}
	place, err := groupFolder(string(own), string(mounts))
	if err != nil {
		return groupPlace{}, err
	}
	sweepGroups(place.folder)
	return place, nil
})

// groupFolder finds the folder from this process's groups (/proc/self/cgroup) and the mounted hierarchies
// (/proc/self/mountinfo).
func groupFolder(own, mounts string) (groupPlace, error) {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		h, kind := groupsV1, "cgroup"
		if parts[0] == "0" && parts[1] == "" {
			h, kind = groupsV2, "cgroup2"
		} else if !slices.Contains(strings.Split(parts[1], ","), "memory") {
			continue
		}
		folder := mountedGroup(mounts, kind, parts[2])
		if folder == "" {
			continue
		}
		if place, ok := h.place(folder); ok {
			return place, nil
		}
	}
	return groupPlace{}, errors.New("no control group of this process counts memory and allows groups below it")
}

// mountedGroup returns where a group of a hierarchy is mounted; empty: nowhere.
func mountedGroup(mounts, kind, path string) string {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(rest) < 3 || rest[0] != kind || kind == "cgroup" &&
			!slices.Contains(strings.Split(rest[2], ","), "memory") {
			continue
		}
		if below(path, fields[3]) || fields[3] == "/" {
			return filepath.Join(fields[4], strings.TrimPrefix(path, fields[3]))
		}
	}
	return ""
}

// place returns the folder for the sandboxes of a process in the group at folder.
func (h *hierarchy) place(folder string) (groupPlace, bool) {
	if h.sibling {
		// The root of the hierarchy, which has no type, may have processes and limited groups at once.
		if _, err := os.Stat(filepath.Join(folder, "cgroup.type")); err == nil {
			folder = filepath.Dir(folder)
		}
		handed, err := os.ReadFile(filepath.Join(folder, "cgroup.subtree_control"))
		if err != nil || !slices.Contains(strings.Fields(string(handed)), "memory") {
			return groupPlace{}, false
		}
	}
	return groupPlace{folder, h}, syscall.Access(folder, 2) == nil // writable
}

// sweepGroups removes groups left by killed processes. A group that contains processes stays.
func sweepGroups(folder string) {
	left, _ := filepath.Glob(filepath.Join(folder, groupPrefix+"*")) // the pattern is well-formed
	for _, path := range left {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), groupPrefix), "-")
		if pid, err := strconv.Atoi(number); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.Remove(path)
		}
	}
}

// newGroup makes a group that limits the memory of all its processes together, in bytes.
func newGroup(most int64) (*group, error) {
	place, err := findGroups()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(place.folder, groupPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, err
	}
	g := &group{folder, place.hierarchy}
	for _, f := range g.limits {
		value := f.value
		if value == "" {
			value = strconv.FormatInt(most, 10)
		}
		err := os.WriteFile(filepath.Join(folder, f.name), []byte(value), 0)
		if err != nil && (f.needed || !errors.Is(err, fs.ErrNotExist)) {
			return nil, errors.Join(err, g.remove())
		}
	}
	return g, nil
}

// join moves a process with all its threads into the group. Its later children are in the group too.
func (g *group) join(pid int) error {
	return os.WriteFile(filepath.Join(g.folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

// exceeded reports whether the kernel killed a process of the group for lack of memory; false without a group.
func (g *group) exceeded() bool {
	if g == nil {
		return false
	}
	text, err := os.ReadFile(filepath.Join(g.folder, g.kills))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			return count != "0"
		}
	}
	return false
}

// removeTries and removeEvery bound the wait for the kernel to take the last process out of a group.
const (
	removeTries = 100
	removeEvery = 10 * time.Millisecond
)

// remove deletes an empty group.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	for try := 1; ; try++ {
		err := os.Remove(g.folder)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
			return nil
		case try == removeTries || !errors.Is(err, syscall.EBUSY):
			return fmt.Errorf("removing the control group of a sandbox: %w", err)
		}
		time.Sleep(removeEvery)
	}
}
