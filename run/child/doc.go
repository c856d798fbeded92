// Package child runs a command of this program as a child process, and locks the folder that both write.
//
//	lock, err := child.Acquire(ctx, folder, child.Owner{What: "campaign", File: ".campaign.lock"})
//	end, err := child.Run(ctx, cmd, lock, 0)
//
// LoadGen runs one test per process, so a command that runs several tests starts a child for each. Run passes
// signals on to the child. The child also holds its parent's lock, so the folder stays locked as long as either may
// write.
//
// The package must not import any other of run's packages but run/exit.
package child
