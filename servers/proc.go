package servers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// identity identifies a process until the machine reboots. The start time is part of it because PIDs are reused.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start_ticks"` // since boot
}

// pidSpace identifies the boot and the PID namespace in which the PIDs of this process are valid.
func pidSpace() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("read the PID namespace: %w", err)
	}
	return string(bytes.TrimSpace(boot)) + " " + namespace, nil
}

// proc is the content of /proc/PID/stat.
type proc struct {
	identity
	parent, group, session int
	state                  byte
	name                   string
}

// gone reports whether the process has exited and only waits to be reaped.
func (p proc) gone() bool { return p.state == 'Z' || p.state == 'X' }

func (p proc) String() string { return fmt.Sprintf("%d (%s)", p.PID, p.name) }

// readProc returns the current state of a process, or false if no process has that PID.
func readProc(pid int) (proc, bool) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return proc{}, false
	}
	return parseStat(b)
}

// parseStat parses "pid (name) state ppid pgrp session ..."; the name may contain blanks and parentheses.
func parseStat(b []byte) (proc, bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return proc{}, false
	}
	fields := bytes.Fields(b[end+1:])
	const startTime = 19 // field 22 of proc(5); the first two precede fields
	if len(fields) <= startTime || len(fields[0]) != 1 {
		return proc{}, false
	}
	p := proc{state: fields[0][0], name: string(b[open+1 : end])}
	var err [5]error
	p.PID, err[0] = strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	p.parent, err[1] = strconv.Atoi(string(fields[1]))
	p.group, err[2] = strconv.Atoi(string(fields[2]))
	p.session, err[3] = strconv.Atoi(string(fields[3]))
	p.Start, err[4] = strconv.ParseUint(string(fields[startTime]), 10, 64)
	return p, errors.Join(err[:]...) == nil
}

// processes lists every process of the machine.
func processes() ([]proc, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var all []proc
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := readProc(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// cookieName is a variable that every process of a replica inherits. It identifies processes that left the session.
const cookieName = "MLPERF_SERVER_REPLICA"

// cookie returns the variable's value for a replica of a fleet.
func cookie(fleet string, replica int) string { return fmt.Sprintf("%s-%d", fleet, replica) }

// carries reports whether the environment of a process contains the cookie. Processes that set their title may have
// overwritten it.
func (p proc) carries(cookie string) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "environ"))
	return err == nil && bytes.Contains(b, []byte(cookieName+"="+cookie+"\x00"))
}

// family returns the live processes of a replica.
//
// The leader, previously known members and processes with the cookie are witnesses: start time or cookie proves that
// they belong to the replica. If a witness is in a group or session of the replica, every process there belongs to it
// too, because the kernel does not reuse a number while a process, group or session has it. So do the descendants of
// all of them. A matching number alone proves nothing.
func family(leader identity, cookie string, known []identity) ([]proc, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	numbers := map[int]bool{leader.PID: false} // PIDs of the replica → whether a witness is in that group or session
	for _, k := range known {
		numbers[k.PID] = false
	}
	member := map[int]bool{}
	for _, p := range all {
		if p.identity != leader && !slices.Contains(known, p.identity) && !p.carries(cookie) {
			continue
		}
		member[p.PID] = true
		for _, n := range []int{p.group, p.session} {
			if _, had := numbers[n]; had {
				numbers[n] = true
			}
		}
	}
	for _, p := range all {
		if numbers[p.group] || numbers[p.session] {
			member[p.PID] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if member[p.parent] && !member[p.PID] {
				member[p.PID], grown = true, true
			}
		}
	}
	var found []proc
	for _, p := range all {
		if member[p.PID] && !p.gone() {
			found = append(found, p)
		}
	}
	return found, nil
}

// signalGroup sends a signal to a process group. It returns nil if the group has ended.
func signalGroup(leader int, s syscall.Signal) error {
	if err := syscall.Kill(-leader, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to the process group %d: %w", s, leader, err)
	}
	return nil
}

// signalOne sends a signal to a process. It returns nil if the process has ended, even if its PID was reused.
func signalOne(id identity, s syscall.Signal) error {
	p, err := os.FindProcess(id.PID) // a handle (pidfd), which stays bound to this process if the PID is reused
	if err != nil {
		return fmt.Errorf("find the process %d: %w", id.PID, err)
	}
	defer p.Release()
	if now, ok := readProc(id.PID); !ok || now.Start != id.Start {
		return nil
	}
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to the process %d: %w", s, id.PID, err)
	}
	return nil
}

// alive reports whether the process is still running.
func (id identity) alive() bool {
	now, ok := readProc(id.PID)
	return ok && now.Start == id.Start && !now.gone()
}
