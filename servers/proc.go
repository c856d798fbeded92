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

// identity names a process for as long as the machine runs: numbers are used again, start times are not.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start_ticks"` // since boot
}

// numberSpace names what process numbers mean here: the kernel's start and the PID namespace. Elsewhere, and after the
// next start, they are the numbers of other processes.
func numberSpace() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("the kernel's start: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("the space of process numbers: %w", err)
	}
	return string(bytes.TrimSpace(boot)) + " " + namespace, nil
}

// proc is a line of /proc/PID/stat.
type proc struct {
	identity
	parent, group, session int
	state                  byte
	name                   string
}

// gone says whether only the exit status of a process is left.
func (p proc) gone() bool { return p.state == 'Z' || p.state == 'X' }

func (p proc) String() string { return fmt.Sprintf("%d (%s)", p.PID, p.name) }

// readProc gives a process as it is now; false where there is none.
func readProc(pid int) (proc, bool) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return proc{}, false // it has ended
	}
	return parseStat(b)
}

// parseStat reads "pid (name) state ppid pgrp session ..."; the name may hold blanks and brackets.
func parseStat(b []byte) (proc, bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return proc{}, false
	}
	fields := bytes.Fields(b[end+1:])
	const startTime = 19 // field 22 of proc(5), of which two stand before
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
		return nil, fmt.Errorf("listing processes: %w", err)
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

// cookieName is a variable that every process of a replica inherits, by which those are found that left its session.
const cookieName = "MLPERF_SERVER_REPLICA"

// cookie is the variable's value for one replica of one fleet.
func cookie(fleet string, replica int) string { return fmt.Sprintf("%s-%d", fleet, replica) }

// carries says whether a process inherited the cookie. One that overwrote its environment, as those do that set their
// title, does not.
func (p proc) carries(cookie string) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "environ"))
	return err == nil && bytes.Contains(b, []byte(cookieName+"="+cookie+"\x00"))
}

// family are the living processes of a replica. Its leader, what was known of it before and what carries its cookie
// prove by start time or cookie that they are its own. The groups and sessions in which one of these is are its own
// too, with everything in them: the kernel gives a number to nothing else for as long as a process, a group or a
// session has it. So are the descendants of them all. A number alone proves nothing.
func family(leader identity, cookie string, known []identity) ([]proc, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	numbers := map[int]bool{leader.PID: false} // that its processes had; true: a witness is in that group or session now
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

// signalGroup sends a signal to a group; a group that has ended is no error.
func signalGroup(leader int, s syscall.Signal) error {
	if err := syscall.Kill(-leader, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %v to the process group %d: %w", s, leader, err)
	}
	return nil
}

// signalOne sends a signal to a process unless its number is another's by now.
func signalOne(id identity, s syscall.Signal) error {
	p, err := os.FindProcess(id.PID) // a handle: what comes after is about this process, whatever becomes of its number
	if err != nil {
		return fmt.Errorf("looking for the process %d: %w", id.PID, err)
	}
	defer p.Release()
	if now, ok := readProc(id.PID); !ok || now.Start != id.Start {
		return nil
	}
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %v to the process %d: %w", s, id.PID, err)
	}
	return nil
}

// alive says whether a process still runs.
func (id identity) alive() bool {
	now, ok := readProc(id.PID)
	return ok && now.Start == id.Start && !now.gone()
}
