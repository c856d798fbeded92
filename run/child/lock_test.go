package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

var campaign = Owner{What: "campaign", File: ".lock", Busy: exit.CodeCampaignRunning}

func TestTwoCampaignsInOneFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	require.False(t, campaign.Running(folder))
	first, err := Acquire(context.Background(), folder, campaign)
	require.NoError(t, err)
	require.True(t, campaign.Running(folder))
	_, err = Acquire(context.Background(), folder, campaign)
	require.Equal(t, exit.StatusUsage, exit.Classify(err).Exit)
	require.EqualError(t, err,
		fmt.Sprintf("the folder %s is in use by another campaign (process %d)", folder, os.Getpid()))
	first.Release()
	require.False(t, campaign.Running(folder))
	second, err := Acquire(context.Background(), folder, campaign)
	require.NoError(t, err)
	second.Release()

	over, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Acquire(over, folder, campaign)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, campaign.Running(folder), "who does not get it does not hold it")
}

// A lock leaves nothing behind: neither its file, nor a folder that it made and that is still empty.
func TestALockLeavesNothingBehind(t *testing.T) {
	base := t.TempDir()
	for name, c := range map[string]struct{ made, written, stays bool }{
		"new":          {},
		"new, used":    {written: true, stays: true},
		"exists":       {made: true, stays: true},
		"exists, used": {made: true, written: true, stays: true},
	} {
		folder := filepath.Join(base, name)
		if c.made {
			require.NoError(t, os.Mkdir(folder, 0o700))
		}
		lock, err := Acquire(context.Background(), folder, campaign)
		require.NoError(t, err)
		if c.written {
			require.NoError(t, os.WriteFile(filepath.Join(folder, "result"), nil, 0o600))
		}
		lock.Release()
		require.NoFileExists(t, filepath.Join(folder, campaign.File))
		_, err = os.Stat(folder)
		require.Equal(t, c.stays, err == nil, name)
	}
}

// The file of the lock is removed at each release, and still never has two holders.
func TestALockHasOneHolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	var holders, taken atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for taken.Load() < 500 {
				lock, err := Acquire(context.Background(), folder, campaign)
				if err != nil {
					continue // another process holds it
				}
				assert.EqualValues(t, 1, holders.Add(1))
				taken.Add(1)
				holders.Add(-1)
				lock.Release()
			}
		}()
	}
	all.Wait()
	require.NoFileExists(t, folder)
}

// The process of a step holds the lock of a killed campaign, and the next campaign waits for it.
func TestTheLockOutlivesItsHolder(t *testing.T) {
	folder := t.TempDir()
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	lock, err := Acquire(context.Background(), folder, campaign)
	require.NoError(t, err)
	child := exec.Command("sleep", "600")
	child.ExtraFiles = []*os.File{lock.file}
	require.NoError(t, child.Start())
	_, err = lock.file.WriteAt([]byte(process{dead.Process.Pid, "1"}.String()+"\n"), 0)
	require.NoError(t, err)
	require.NoError(t, lock.file.Close()) // as happens when its process dies
	require.True(t, campaign.Running(folder))

	short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = Acquire(short, folder, campaign)
	require.ErrorIs(t, err, context.DeadlineExceeded, "it waits, and does not refuse")
	require.NoError(t, child.Process.Kill())
	_ = child.Wait() // it was killed
	again, err := Acquire(context.Background(), folder, campaign)
	require.NoError(t, err)
	again.Release()
}

func TestProcessIsMoreThanItsNumber(t *testing.T) {
	me := self()
	require.True(t, me.alive())
	require.False(t, process{me.pid, "1"}.alive(), "another process had the number")
	require.False(t, process{}.alive())
	require.Equal(t, process{}, holder(mustOpen(t, os.DevNull)))
}

func mustOpen(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}
