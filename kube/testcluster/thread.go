package testcluster

import "runtime"

// lockThread keeps the calling goroutine on its thread: the kernel kills a child with Pdeathsig when the thread that
// started it ends, and Go ends threads.
func lockThread()   { runtime.LockOSThread() }
func unlockThread() { runtime.UnlockOSThread() }
