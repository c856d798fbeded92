package testcluster

import (
	"os/exec"
	"runtime"
)

// startTied starts a process whose SysProcAttr has Pdeathsig, and waits for it. The kernel sends that signal when the
// thread ends that started the process. Go may end any thread, so a goroutine keeps one for each process. ended is
// called after the end.
func startTied(process *exec.Cmd, ended func()) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := process.Start()
		started <- err
		if err == nil {
			process.Wait()
			ended()
		}
	}()
	return <-started
}
