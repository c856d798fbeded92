package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// group is the control group of one sandbox. The kernel counts all memory of the program in it: pages that no process
// maps any more, files in memory, and the contents of pipes and sockets.
type group struct {
	*hierarchy
	folder string
	owner  *os.File // the folder, locked: this process still uses the group
}

// hierarchy describes how one version of control groups limits memory. Files that a kernel lacks are skipped.
type hierarchy struct {
	limits []groupFile // files with limits, written in this order; the first is needed
	kills  string      // name of the file with a line "oom_kill N"
	// a group with processes cannot have limited groups below it, so sandboxes are beside this process's group
	sibling bool
}

type groupFile struct {
	name  string
	value string // value to write; empty: the memory limit in bytes
}

var (
	groupsV1 = &hierarchy{kills: "memory.oom_control",
		limits: []groupFile{{name: "memory.limit_in_bytes"}, {name: "memory.memsw.limit_in_bytes"}}}
	groupsV2 = &hierarchy{kills: "memory.events", sibling: true,
		limits: []groupFile{{name: "memory.max"}, {name: "memory.swap.max", value: "0"},
			{name: "memory.oom.group", value: "1"}}}
)

// groupPrefix is the prefix of group names.
const groupPrefix = "mlperf-go-sandbox-"

// ownGroups is the prefix of the names of this process's groups. Its process number may exist elsewhere too: processes
// of other process namespaces use the same place.
var ownGroups = groupPrefix + strconv.FormatUint(rand.Uint64(), 10) + "-"

var groupName = regexp.MustCompile("^" + groupPrefix + `\d+-\d+$`)

// groupPlace is the folder in which this process may make groups. A nil place makes none.
type groupPlace struct {
	*hierarchy
	folder string
}

// findGroups searches for the place once and caches the result.
var findGroups = sync.OnceValue(searchGroups)

// searchGroups returns the place for groups, without those that killed processes left. It is nil if no control group of
// this process counts memory and allows groups below it.
func searchGroups() *groupPlace {
	own, _ := os.ReadFile("/proc/self/cgroup") // an unreadable file has no groups
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	place := groupFolder(string(own), string(mounts))
	place.sweep()
	return place
}

// groupFolder finds the place from this process's groups (/proc/self/cgroup) and the mounted hierarchies
// (/proc/self/mountinfo).
func groupFolder(own, mounts string) *groupPlace {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		h, kind := groupsV1, "cgroup"
		if parts[1] == "" {
			h, kind = groupsV2, "cgroup2"
		} else if !slices.Contains(strings.Split(parts[1], ","), "memory") {
			continue
		}
		folder := mountedGroup(mounts, kind, parts[2])
		if folder == "" {
			continue
		}
		if place := h.place(folder); place != nil {
			return place
		}
	}
	return nil
}

// mountedGroup returns where a group of a hierarchy is mounted; empty: nowhere.
func mountedGroup(mounts, kind, path string) string {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if len(fields) < 6 || len(rest) < 3 || rest[0] != kind || kind == "cgroup" &&
			!slices.Contains(strings.Split(rest[2], ","), "memory") {
			continue
		}
		if below(path, fields[3]) || fields[3] == "/" {
			return filepath.Join(fields[4], strings.TrimPrefix(path, fields[3]))
		}
	}
	return ""
}

// place returns the place for the sandboxes of a process in the group at folder; nil: this process cannot make any.
func (h *hierarchy) place(folder string) *groupPlace {
	if h.sibling {
		// The root of the hierarchy, which has no type, may have processes and limited groups at once.
		if _, err := os.Stat(filepath.Join(folder, "cgroup.type")); err == nil {
			folder = filepath.Dir(folder)
		}
		handed, _ := os.ReadFile(filepath.Join(folder, "cgroup.subtree_control")) // no file: nothing is handed down
		if !slices.Contains(strings.Fields(string(handed)), "memory") {
			return nil
		}
	}
	if unix.Access(folder, unix.W_OK) != nil {
		return nil
	}
	return &groupPlace{h, folder}
}

// sweepAfter is the minimum age of a group that is removed: its owner has long locked it.
const sweepAfter = time.Minute

// sweep removes the groups of ended processes, which were killed before they could do it. A group that contains
// processes stays.
func (p *groupPlace) sweep() {
	if p == nil {
		return
	}
	entries, _ := os.ReadDir(p.folder) // an unreadable folder has no groups to remove
	for _, e := range entries {
		path := filepath.Join(p.folder, e.Name())
		var s unix.Stat_t
		_ = unix.Lstat(path, &s) // a folder that is gone cannot be locked
		if !groupName.MatchString(e.Name()) || time.Since(time.Unix(s.Mtim.Unix())) < sweepAfter {
			continue
		}
		if lock, err := lockFolder(path, unix.LOCK_EX); err == nil {
			_ = unix.Rmdir(path)
			_ = lock.Close()
		}
	}
}

// lockFolder opens a folder and locks it as long as it is open. The kernel unlocks it when this process ends.
func lockFolder(path string, how int) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// grouped moves a process into a new group; nil if none can be made. The other limits of memory still apply.
func (p *groupPlace) grouped(pid int, most int64) *group {
	if p == nil {
		return nil
	}
	g, err := p.newGroup(most)
	if err != nil {
		return nil
	}
	if err := g.join(pid); err != nil {
		_ = g.remove() // the group is empty
		return nil
	}
	return g
}

// newGroup makes a group that limits the memory of all its processes together, in bytes.
func (p *groupPlace) newGroup(most int64) (*group, error) {
	folder, err := os.MkdirTemp(p.folder, ownGroups)
	if err != nil {
		return nil, err
	}
	owner, err := lockFolder(folder, unix.LOCK_SH)
	g := &group{p.hierarchy, folder, owner}
	for i, f := range g.limits {
		value := f.value
		if value == "" {
			value = strconv.FormatInt(most, 10)
		}
		wrong := os.WriteFile(filepath.Join(folder, f.name), []byte(value), 0)
		if i == 0 || !errors.Is(wrong, fs.ErrNotExist) {
			err = errors.Join(err, wrong)
		}
	}
	if err != nil {
		return nil, errors.Join(err, g.remove())
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
	text, _ := os.ReadFile(filepath.Join(g.folder, g.kills)) // an unreadable file counts no kill
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
	defer g.owner.Close()
	for try := 1; ; try++ {
		err := os.Remove(g.folder)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
			return nil
		case try == removeTries:
			return fmt.Errorf("removing the control group of a sandbox: %w", err)
		}
		time.Sleep(removeEvery)
	}
}
