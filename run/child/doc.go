// Package child runs a command of this program as a child process, and locks the folder that both write.
//
//	lock, err := child.Acquire(ctx, folder, child.Owner{What: "campaign", File: ".campaign.lock"})
//	end, err := child.Run(ctx, cmd, lock, 0)
//
// LoadGen runs one test per process, so whatever runs several tests starts one child for each. Run passes a signal on,
// and the child holds the lock of its parent, so that the folder stays locked for as long as one of them may write.
//
// The package must not import any other of run's packages but run/exit.
package child
