package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors that the parent hands over.
const (
	planFD   = 3
	statusFD = 4
)

// Enter returns immediately unless this process is a sandbox's child. A child builds its walls, executes the program,
// and never returns.
func Enter(args, environ []string) {
	if len(args) != 1 || args[0] != childName || len(environ) != 0 || os.Getpid() != 1 {
		return
	}
	runtime.LockOSThread()
	err := enter()
	// Reached only if a wall or the program's start failed: the parent reads why.
	_, _ = os.NewFile(statusFD, "status").WriteString(err.Error())
	syscall.Exit(1) // nothing else runs in this process
}

func enter() error {
	var pl plan
	told := os.NewFile(planFD, "plan")
	defer runtime.KeepAlive(told) // the pipe's end must stay open until the program starts
	if err := json.NewDecoder(told).Decode(&pl); err != nil {
		return fmt.Errorf("reading what to run: %w", err)
	}
	for _, step := range []struct {
		name string
		wall wall // empty: cannot be omitted
		do   func() error
	}{
		{"hiding the file system", "", pl.buildRoot},
		{"writing the program's files", "", pl.writeFiles},
		{"setting the host's name", "", func() error { return unix.Sethostname([]byte("sandbox")) }},
		{"closing the root file system", "", sealRoot},
		{"changing the user", wallUser, pl.changeUser},
		{"dropping capabilities", wallCapabilities, dropCapabilities},
		{"asking for death with the parent", "", dieWithParent},
		{"closing other files", wallDescriptors, func() error {
			return unix.CloseRange(planFD, math.MaxUint32,
				unix.CLOSE_RANGE_CLOEXEC)
		}},
	} {
		if pl.lacks(step.wall) {
			continue
		}
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	argv := append([]string{pl.Path}, pl.Args...)
	filter := program()
	if err := pl.limit(); err != nil {
		return fmt.Errorf("setting limits: %w", err)
	}
	if !pl.lacks(wallFilter) {
		if err := install(filter); err != nil {
			return fmt.Errorf("filtering system calls: %w", err)
		}
	}
	if pl.Path == "" {
		syscall.Exit(0)
	}
	return fmt.Errorf("starting %s: %w", pl.Path, syscall.Exec(pl.Path, argv, pl.Env))
}

// tmpfs mounts a file system in memory.
func tmpfs(at string, space int64, mode uint32) error {
	return errors.Join(os.MkdirAll(at, 0o755), unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("size=%d,nr_inodes=4096,mode=%o", space, mode)))
}

// rootSpace is the size in bytes of the file system for the folders and empty files that serve as mount points.
const rootSpace = 1 << 20

// buildRoot makes a new root file system and detaches the machine's.
func (pl *plan) buildRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := tmpfs(pl.Root, rootSpace, 0o755); err != nil {
		return fmt.Errorf("mounting a root in memory: %w", err)
	}
	for _, b := range pl.Binds {
		if err := b.mount(pl.Root); err != nil {
			return fmt.Errorf("showing %s: %w", b.Path, err)
		}
	}
	for path, target := range pl.Links {
		at := filepath.Join(pl.Root, path)
		err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(target, at))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	for _, folder := range []string{Home, "/tmp"} {
		if err := tmpfs(filepath.Join(pl.Root, folder), pl.Space, 0o1777); err != nil {
			return fmt.Errorf("mounting %s in memory: %w", folder, err)
		}
	}
	return leaveOldRoot(pl.Root)
}

// mount shows a path of this machine below the new root.
func (b bind) mount(root string) error {
	at := filepath.Join(root, b.Path)
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	if b.Folder {
		err = os.MkdirAll(at, 0o755)
	} else {
		err = errors.Join(err, os.WriteFile(at, nil, 0o644))
	}
	if err := errors.Join(err, unix.Mount(b.Path, at, "", unix.MS_BIND|unix.MS_REC, "")); err != nil {
		return err
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY}
	if b.Device {
		attr.Attr_set = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	}
	return unix.MountSetattr(unix.AT_FDCWD, at, unix.AT_RECURSIVE, attr)
}

// leaveOldRoot switches to the new root and unmounts the old one.
func leaveOldRoot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	// Both are mounted at one place; the old one is on top and is unmounted (pivot_root(2), notes).
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting the old root: %w", err)
	}
	return os.Chdir(Home)
}

func (pl *plan) writeFiles() error {
	for name, data := range pl.Files {
		if err := os.WriteFile(filepath.Join(Home, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sealRoot makes the new root read-only; Home and /tmp are mounts of their own.
func sealRoot() error {
	return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
}

// changeUser changes from the user that built the walls to the unprivileged user, if attributes has mapped one.
func (pl *plan) changeUser() error {
	if !pl.Privileged {
		return nil
	}
	return errors.Join(syscall.Setgroups(nil), keepCapabilities(), syscall.Setresgid(1, 1, 1), syscall.Setresuid(1, 1, 1))
}

// keepCapabilities preserves, across the change of user, the right to empty the bounding set.
func keepCapabilities() error { return unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0) }

// dropCapabilities permanently drops every right over the namespaces.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	// After the change of user, capabilities are permitted but not yet effective.
	for i := range data {
		data[i].Effective = data[i].Permitted
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return err
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	data = [2]unix.CapUserData{}
	return errors.Join(unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0),
		unix.Capset(&header, &data[0]))
}

// dieWithParent requests a signal at the parent's death, because a change of user cleared that request. It then checks
// that the parent is still alive: the parent holds the other end of the plan's pipe as long as it lives.
func dieWithParent() error {
	asked := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	poll := []unix.PollFd{{Fd: planFD, Events: unix.POLLIN}}
	_, polled := unix.Poll(poll, 0)
	if poll[0].Revents&unix.POLLHUP != 0 {
		return errors.New("the parent has ended")
	}
	return errors.Join(asked, polled)
}

// limit sets the limits. They come last, because this process may use more.
func (pl *plan) limit() error {
	for r, most := range pl.Rlimits {
		if err := syscall.Setrlimit(r, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit %d: %w", r, err)
		}
	}
	return nil
}
