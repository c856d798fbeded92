package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDirFollowsTheVariable(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "part"), 0o755))
	t.Setenv(Env, root)
	require.Equal(t, filepath.Join(root, "part"), Dir(t, "part"))
}

func TestDirSkipsWhereNothingIsRecorded(t *testing.T) {
	skipped := false
	t.Run("absent", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		t.Setenv(Env, t.TempDir())
		Dir(t, "part")
		t.Error("the test went on without recorded results")
	})
	require.True(t, skipped)
}

func TestRepositoryIsTheFolderOfTheModule(t *testing.T) {
	root := repository(t)
	require.FileExists(t, filepath.Join(root, "go.mod"))
	require.DirExists(t, filepath.Join(root, "internal", "golden"))
}
