package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bounded keeps the beginning of a stream and calls full once if there was more.
type bounded struct {
	most int64
	full func()

	kept bytes.Buffer
	over bool
}

// Write accepts everything: full ends the program, not a broken pipe.
func (b *bounded) Write(p []byte) (int, error) {
	keep := p[:min(int64(len(p)), b.most-int64(b.kept.Len()))]
	b.kept.Write(keep)
	if len(keep) < len(p) && !b.over {
		b.over = true
		b.full()
	}
	return len(p), nil
}

// memoryEvery is the interval between checks of the memory of all processes. A process writes about 10 MB of fresh
// memory in that time, and never more than the limit of its own data.
const memoryEvery = 10 * time.Millisecond

// watchMemory reports once if a sandbox uses more memory than its limit, or if the kernel killed a process for that.
func watchMemory(ctx context.Context, c *child, most int64, over func()) {
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if c.group.exceeded() || c.watched && heldBytes(c.cmd.Process.Pid) > most {
				over()
				return
			}
		}
	}
}

// Capacity of a pipe and of a socket; a program in the sandbox cannot raise it.
const pipeBytes = 64 << 10

var socketBytes = sync.OnceValue(func() int64 {
	text, _ := os.ReadFile("/proc/sys/net/core/wmem_default")
	return socketDefault(string(text))
})

// socketDefault parses the system's default; without one it returns that of the kernel.
func socketDefault(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 212992
	}
	return n
}

// heldBytes returns the memory of a sandbox: its processes, its files, and the capacity of its pipes and sockets.
func heldBytes(pid int) int64 {
	t := tally{processes: map[int]bool{}, objects: map[string]bool{}}
	t.tree(pid)
	for _, folder := range []string{Home, "/tmp"} {
		t.sum += fileBytes(pid, folder)
	}
	return t.sum
}

// fileBytes returns the bytes used in the memory file system at a folder of the sandbox. It returns 0 before the
// sandbox has its own root, and after its end.
func fileBytes(pid int, folder string) int64 {
	inside := fmt.Sprintf("/proc/%d/root%s", pid, folder)
	var there, here unix.Stat_t
	_, _ = unix.Stat(inside, &there), unix.Stat(folder, &here) // 0 where there is no folder
	if here.Dev == there.Dev {
		return 0
	}
	var s unix.Statfs_t
	_ = unix.Statfs(inside, &s) // 0 after the end
	return int64(s.Blocks-s.Bfree) * s.Bsize
}

// tally adds up memory. Processes that have ended meanwhile count as 0.
type tally struct {
	sum       int64
	processes map[int]bool
	objects   map[string]bool // pipes, sockets and other files that were seen, since processes share them
}

// tree adds a process and those below it.
func (t *tally) tree(pid int) {
	if t.processes[pid] {
		return
	}
	t.processes[pid] = true
	t.sum += processBytes(pid)
	t.descriptors(pid)
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, field := range strings.Fields(string(children)) {
			child, _ := strconv.Atoi(field) // the kernel writes numbers
			t.tree(child)
		}
	}
}

// descriptors adds a process's pipes and sockets.
func (t *tally) descriptors(pid int) {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		name, _ := os.Readlink(folder + "/" + e.Name()) // empty if it was closed
		switch {
		case t.objects[name]:
		case strings.HasPrefix(name, "pipe:"):
			t.sum += pipeBytes
		case strings.HasPrefix(name, "socket:"):
			t.sum += socketBytes()
		}
		t.objects[name] = true
	}
}

// counted lists the lines of /proc/PID/status with a process's own memory in kB. VmPTE is the size of its page tables.
var counted = []string{"RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"}

func processBytes(pid int) (sum int64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		for _, name := range counted {
			if rest, ok := strings.CutPrefix(line, name); ok {
				kB, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				sum += kB << 10
			}
		}
	}
	return sum
}
