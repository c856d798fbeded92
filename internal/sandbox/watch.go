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
)

// bounded keeps the beginning of a stream, and tells once that there was more.
type bounded struct {
	most int64
	full func()

	mu   sync.Mutex
	kept bytes.Buffer
	over bool
}

// Write takes everything: the program is ended by full, not by a broken pipe.
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keep := p[:min(int64(len(p)), b.most-int64(b.kept.Len()))]
	b.kept.Write(keep)
	if len(keep) < len(p) && !b.over {
		b.over = true
		b.full()
	}
	return len(p), nil
}

func (b *bounded) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept.Bytes()
}

// memoryEvery is how often the memory of all processes is looked at. A process writes some 10 MB of fresh memory in that time.
const memoryEvery = 10 * time.Millisecond

// watchMemory tells once when a process and everything below it have more than so many bytes.
func watchMemory(ctx context.Context, pid int, most int64, over func()) {
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if treeBytes(pid, map[int]bool{}) > most {
				over()
				return
			}
		}
	}
}

// treeBytes sums the memory of a process and of those below it that only they have. What ended meanwhile counts nothing.
func treeBytes(pid int, seen map[int]bool) int64 {
	if seen[pid] {
		return 0
	}
	seen[pid] = true
	sum := processBytes(pid)
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return sum
	}
	for _, task := range tasks {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(children)) {
			if child, err := strconv.Atoi(field); err == nil {
				sum += treeBytes(child, seen)
			}
		}
	}
	return sum
}

// counted are the lines of /proc/PID/status that are a process's own memory, in kB.
var counted = []string{"RssAnon:", "RssShmem:", "VmSwap:"}

func processBytes(pid int) (sum int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		for _, name := range counted {
			if rest, ok := strings.CutPrefix(line, name); ok {
				kB, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				if err == nil {
					sum += kB << 10
				}
			}
		}
	}
	return sum
}
