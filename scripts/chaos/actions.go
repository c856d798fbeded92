package main

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// action is an event that happens once in a test, to the program, its servers or its files.
type action struct {
	name    string
	codes   []string // failure codes that it explains
	reasons []string // verdict codes
	exits   []int    // possible exit codes besides those of the verdict; -9: killed by SIGKILL
	ends    bool     // whether it ends the test early
	abrupt  bool     // whether it ends the test without time to clean up
	do      func(*trial)
}

// leftOut are the failures of a server that is gone or dies during an answer. If only the end of the connection marks
// the end of an answer, such an answer may look short instead.
var leftOut = append([]string{"timeout_first_token", "timeout_between_tokens", "timeout_request", "empty", "bad_json",
	"bad_event"}, gone...)

// lostLog are the verdict codes of a test whose detail log is lost or cut: it does not prove an audit's configuration.
var lostLog = []string{"log_incomplete", "loadgen_invalid", "loadgen_errors", "compliance_failed"}

var actions = []action{
	{name: "SIGINT", reasons: []string{"interrupted"}, exits: []int{130}, ends: true, do: signals(0, syscall.SIGINT)},
	{name: "SIGTERM", reasons: []string{"interrupted"}, exits: []int{143}, ends: true, do: signals(0, syscall.SIGTERM)},
	{name: "SIGHUP", reasons: []string{"interrupted"}, exits: []int{129}, ends: true, do: signals(0, syscall.SIGHUP)},
	{name: "SIGQUIT", reasons: []string{"interrupted"}, exits: []int{131}, ends: true, do: signals(0, syscall.SIGQUIT)},
	{name: "SIGINT twice", reasons: []string{"interrupted"}, exits: []int{130}, ends: true,
		do: signals(20*time.Millisecond, syscall.SIGINT, syscall.SIGINT)},
	{name: "SIGKILL", exits: []int{killed}, ends: true, abrupt: true, do: signals(0, syscall.SIGKILL)},
	{name: "restart", codes: append(leftOut, "wrong_model"), do: func(t *trial) { t.restart(servedModel) }},
	{name: "restart with another model", codes: append(leftOut, "wrong_model"), reasons: []string{"wrong_model"},
		do: func(t *trial) { t.restart(anotherModel) }},
	{name: "server dies", codes: leftOut, do: func(t *trial) { t.truth.disturb("death"); t.servers[0].down() }},
	{name: "detail log truncated", reasons: lostLog, exits: []int{3},
		do: func(t *trial) { t.truncate("mlperf_log_detail.txt") }},
	{name: "folder deleted", reasons: lostLog, exits: []int{3},
		do: func(t *trial) {
			t.lost = os.RemoveAll(t.run()) == nil
		}},
	{name: "folder renamed", reasons: lostLog, exits: []int{3},
		do: func(t *trial) {
			t.lost = os.Rename(t.run(), t.run()+"-moved") == nil
		}},
}

func actionNames() []string {
	names := make([]string, len(actions))
	for i := range actions {
		names[i] = actions[i].name
	}
	return names
}

// killed is the exit code of a process that died by SIGKILL.
const killed = -int(syscall.SIGKILL)

// signals sends signals to the program.
func signals(pause time.Duration, list ...syscall.Signal) func(*trial) {
	return func(t *trial) {
		for i, s := range list {
			if i > 0 {
				time.Sleep(pause)
			}
			_ = t.cmd.Process.Signal(s) // it may have ended
		}
	}
}

// restart ends a server, and starts it again after a while.
func (t *trial) restart(model string) {
	s := t.servers[0]
	t.truth.disturb("restart")
	s.down()
	gap := time.Duration(mix(t.sc.Seed, 51)%1500) * time.Millisecond
	t.later.Add(1)
	go func() {
		defer t.later.Done()
		time.Sleep(gap)
		s.mu.Lock()
		s.model = model
		s.mu.Unlock()
		if s.network == "unix" {
			_ = os.Remove(s.address) // closing a listener does it already
		}
		if err := s.up(); err != nil {
			t.truth.disturb("no restart: " + err.Error())
		}
	}()
}

// truncate cuts one of LoadGen's logs in half once it is not empty.
func (t *trial) truncate(name string) {
	path := filepath.Join(t.run(), "mlperf", name)
	for range 200 {
		if info, err := os.Stat(path); err == nil && info.Size() > 200 {
			t.lost = os.Truncate(path, info.Size()/2) == nil
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
