package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// memoryCheck is how often the memory of tests is read. A mutant that fills memory as fast as it can takes some
// hundreds of MiB more in that time.
const memoryCheck = 200 * time.Millisecond

// process is one that tests have started.
type process struct{ pid, parent int }

// holdMemory kills a process and its descendants when they use more than limit bytes together, and reports whether they
// did. It returns when ctx ends. A limit on each process (setrlimit) would not bound the sum, and control groups need
// rights that not every user has.
func holdMemory(ctx context.Context, pid int, limit int64) (exceeded bool) {
	ticker := time.NewTicker(memoryCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		tree := descendants(pid, processes())
		var used int64
		for _, pid := range tree {
			used += memoryOf(pid)
		}
		if used > limit {
			for _, pid := range tree {
				_ = syscall.Kill(pid, syscall.SIGKILL) // one that has ended meanwhile needs none
			}
			return true
		}
	}
}

// processes returns all processes that this one can see.
func processes() (list []process) {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, f := range folders {
		pid, err := strconv.Atoi(f.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		// The state and the parent follow the name in brackets, which may contain brackets.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			list = append(list, process{pid, parent})
		}
	}
	return list
}

// descendants returns a process, its children, their children and so on.
func descendants(of int, all []process) []int {
	tree := []int{of}
	for i := 0; i < len(tree); i++ {
		for _, p := range all {
			if p.parent == tree[i] {
				tree = append(tree, p.pid)
			}
		}
	}
	return tree
}

// memoryOf returns the bytes of a process that no file backs, swapped ones included; 0: it has ended. Pages of its
// program are shared by all its processes.
func memoryOf(pid int) (total int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "RssAnon", "RssShmem", "VmSwap":
			kib, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))), 10, 64)
			if err == nil {
				total += kib << 10
			}
		}
	}
	return total
}
