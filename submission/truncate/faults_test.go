package truncate

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// fault is a resource of which a process may use only so much.
type fault struct {
	resource int
	most     uint64
}

// tree truncates a tree's log with a fault.
func (f fault) tree(t *testing.T, at tree) error {
	t.Helper()
	if f.resource == syscall.RLIMIT_FSIZE { // in a process of its own, because go test makes this one write a file too
		cmd := exec.Command(os.Args[0], "-test.run=^TestTreeOfAChild$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %s", child, f.most, at.root, at.backup))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(f.resource, &before))
	less := before
	less.Cur = min(f.most, before.Max)
	require.NoError(t, syscall.Setrlimit(f.resource, &less))
	defer func() { require.NoError(t, syscall.Setrlimit(f.resource, &before)) }()
	_, err := Tree(context.Background(), at.root, Options{Submitter: submitter, Backup: at.backup})
	return err
}

// child is a variable of the environment: the largest file, a tree and its backup.
const child = "MLPERF_GO_TRUNCATE_CHILD"

// TestTreeOfAChild is run by TestFaultsOfEachStep.
func TestTreeOfAChild(t *testing.T) {
	words := strings.Fields(os.Getenv(child))
	if len(words) != 3 {
		t.Skip("no tree is named")
	}
	most, err := strconv.ParseUint(words[0], 10, 64)
	require.NoError(t, err)
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit then returns an error
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}))
	_, err = Tree(context.Background(), words[1], Options{Submitter: submitter, Backup: words[2]})
	require.NoError(t, err)
}

// Whichever file cannot be opened or written, the whole log is in the tree or in the backup, a hash in accuracy.txt
// proves that it is in the backup, and the next call finishes. Without an error everything is done.
func TestFaultsOfEachStep(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // hundreds of files are synced
	}
	lowest, err := os.Open(os.DevNull)
	require.NoError(t, err)
	free := uint64(lowest.Fd()) // the lowest number that is free
	require.NoError(t, lowest.Close())
	var faults []fault
	for _, size := range []uint64{0, 5000, 12010, 20000, 1 << 20} {
		faults = append(faults, fault{syscall.RLIMIT_FSIZE, size})
	}
	for few := range uint64(12) {
		faults = append(faults, fault{syscall.RLIMIT_NOFILE, free + few})
	}
	input := pattern(30000)
	const short = "scores\n"
	long := strings.Repeat("progress\n", 1333)
	for _, c := range []struct{ scores, left string }{{short, "nothing"}, {short, "backup"}, {long, "backup"},
		{long, "hash"}} {
		hashed := c.scores + "\nhash=" + sum(input) + "\n"
		failed := map[int]int{}
		for _, f := range faults {
			at := newTree(t, "")
			at.write(t, logName, input)
			at.write(t, txtName, c.scores)
			backup := tree{root: at.backup, dir: at.dir}
			if c.left != "nothing" {
				require.NoError(t, os.MkdirAll(filepath.Join(at.backup, at.dir), 0o755))
				backup.write(t, logName, input)
				backup.write(t, txtName, c.scores)
			}
			if c.left == "hash" {
				at.write(t, txtName, hashed)
			}
			err := f.tree(t, at)
			where := fmt.Sprintf("%d bytes of scores, %s, %+v: %v", len(c.scores), c.left, f, err)
			done := at.read(t, logName) != input
			require.Equal(t, err == nil, done, where)
			if err != nil {
				failed[f.resource]++
			}
			kept := func() {
				require.Equal(t, []string{input, c.scores}, []string{backup.read(t, logName), backup.read(t, txtName)}, where)
			}
			if done || layout.TruncationHash([]byte(at.read(t, txtName))) != "" {
				kept()
			}
			_, err = at.run(t)
			require.NoError(t, err, where)
			require.Equal(t, hashed, at.read(t, txtName), where)
			require.Len(t, at.read(t, logName), 2*endSize+len(gap), where)
			kept()
		}
		require.Positive(t, failed[syscall.RLIMIT_FSIZE])
		require.Less(t, failed[syscall.RLIMIT_FSIZE], 5)
		require.Positive(t, failed[syscall.RLIMIT_NOFILE])
		require.Less(t, failed[syscall.RLIMIT_NOFILE], 12)
	}
}

// What cannot be read has no hash.
func TestHashOfABrokenFile(t *testing.T) {
	_, err := sha256Of(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(io.ErrClosedPipe)))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}
