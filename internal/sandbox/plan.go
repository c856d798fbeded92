package sandbox

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// plan is the message from the parent to the child.
type plan struct {
	Root       string // empty folder of this machine, on which the root file system is mounted
	Binds      []bind
	Links      map[string]string // symbolic links of this machine within the view, and their targets
	Path       string            // path of the program in the sandbox; empty: only build the walls
	Args, Env  []string
	Files      map[string][]byte
	Space      int64
	Rlimits    map[int]uint64
	Privileged bool
	Without    []wall
}

// wall names a wall that runWithout can omit.
type wall string

// The walls that runWithout can omit.
const (
	wallFilter       wall = "filter"       // the filter of system calls
	wallNetwork      wall = "network"      // the network namespace
	wallUser         wall = "user"         // changing to an unprivileged user
	wallCapabilities wall = "capabilities" // dropping capabilities
	wallDescriptors  wall = "descriptors"  // closing files that this process has open
	wallFileSize     wall = "file size"    // the limit of one file
	wallSpace        wall = "space"        // the size of the file systems in memory
	wallGroup        wall = "group"        // the control group
	wallWatch        wall = "watch"        // the periodic check of memory
	wallData         wall = "data"         // the limit of one process's data
)

func (pl *plan) lacks(w wall) bool { return slices.Contains(pl.Without, w) }

// bind is a file or folder that the sandbox shows.
type bind struct {
	Path   string
	Folder bool
	Device bool
}

// devices lists the devices that programs expect under /dev, except /dev/zero: mapping it creates shared memory.
var devices = []string{"/dev/null", "/dev/urandom", "/dev/random"}

// Resource numbers that package syscall does not define (asm-generic/resource.h).
const (
	rlimitCPU     = 0
	rlimitFSize   = 1
	rlimitData    = 2
	rlimitCore    = 4
	rlimitNProc   = 6
	rlimitNoFile  = 7
	rlimitMemlock = 8
	rlimitAS      = 9
	rlimitMsgQ    = 12
)

func newPlan(root string, p *Program, l *Limits, without []wall) (*plan, error) {
	pl := &plan{Root: root, Links: map[string]string{}, Path: p.Path, Args: p.Args, Env: p.Env, Files: p.Files,
		Space: l.Space, Privileged: realRoot(os.Geteuid(), "/proc/self/uid_map"), Without: without}
	for _, d := range devices {
		pl.Binds = append(pl.Binds, bind{Path: d, Device: true})
	}
	for _, path := range slices.Sorted(slices.Values(p.View)) {
		if err := pl.show(path, 0); err != nil {
			return nil, err
		}
	}
	ordering.Sort(pl.Binds, func(a, b bind) int { return strings.Compare(a.Path, b.Path) })
	pl.Rlimits = map[int]uint64{
		rlimitCPU: uint64(math.Ceil(max(l.CPU, time.Second).Seconds())), rlimitFSize: uint64(l.Space), rlimitCore: 0,
		rlimitNProc:  uint64(l.Processes),
		rlimitNoFile: uint64(l.Files), rlimitMemlock: 0, rlimitMsgQ: 0, rlimitData: uint64(l.Memory),
	}
	for w, resource := range map[wall]int{wallFileSize: rlimitFSize, wallData: rlimitData} {
		if pl.lacks(w) {
			delete(pl.Rlimits, resource)
		}
	}
	if pl.lacks(wallSpace) {
		pl.Space = math.MaxInt32
	}
	if l.AddressSpace != Unlimited {
		pl.Rlimits[rlimitAS] = uint64(l.AddressSpace)
	}
	return pl, nil
}

// mostLinks is the maximum length of a chain of symbolic links, as in the kernel.
const mostLinks = 40

// show adds a path to the view. A symbolic link stays a link, and show adds its target too.
func (pl *plan) show(path string, links int) error {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) || path == "/" || below(path, Home) || links == 0 && path == "/tmp" {
		return fmt.Errorf("the sandbox cannot show %s: the view accepts absolute paths other than /, /tmp and %s", path, Home)
	}
	if pl.shown(path) {
		return nil
	}
	if target, err := os.Readlink(path); err == nil {
		if links == mostLinks {
			return fmt.Errorf("the sandbox cannot show %s: it leads through more than %d symbolic links", path, mostLinks)
		}
		pl.Links[path] = target
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		return pl.show(target, links+1)
	}
	info, err := os.Lstat(path)
	if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
		pl.Binds = slices.DeleteFunc(pl.Binds, func(b bind) bool { return below(b.Path, path) })
		pl.Binds = append(pl.Binds, bind{Path: path, Folder: info.IsDir()})
	}
	return nil
}

func (pl *plan) shown(path string) bool {
	_, linked := pl.Links[path]
	return linked || slices.ContainsFunc(pl.Binds, func(b bind) bool { return below(path, b.Path) })
}

// below reports whether a path is folder or is inside it.
func below(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// realRoot reports whether a user is root of the whole machine, not only of the namespace with this map of users.
func realRoot(user int, uidMap string) bool {
	text, err := os.ReadFile(uidMap) // a kernel without it has no namespaces of users
	return user == 0 && (err != nil || slices.Equal(strings.Fields(string(text)), []string{"0", "0", "4294967295"}))
}
