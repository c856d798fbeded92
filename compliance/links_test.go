package compliance

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
)

// No audit reads a log that is a link, in any folder.
func TestNoLinkIsReadAsALog(t *testing.T) {
	asked, err := Find(Test06, llama8b.Name)
	require.NoError(t, err)
	for _, test := range Tests() {
		for _, name := range []string{mllog.AccuracyName, mllog.SummaryName, mllog.DetailName} {
			for which := range 3 {
				folders := make([]string, 3)
				for i := range folders {
					folders[i] = folder(t, accuracyLog(hundred()), auditRun(asked, "Server"))
					require.NoError(t, os.WriteFile(filepath.Join(folders[i], mllog.SummaryName),
						[]byte("Scenario : Server\nCompleted samples per second : 1\nResult is : VALID\n"), 0o644))
				}
				linked := filepath.Join(folders[which], name)
				moved := filepath.Join(t.TempDir(), "moved")
				require.NoError(t, os.Rename(linked, moved))
				require.NoError(t, os.Symlink(moved, linked))
				r, err := Verify(test, Input{Compliance: folders[0], ReferenceAccuracy: folders[1],
					ReferencePerformance: folders[2], Scenario: models.Server,
					Row: llama8b, Threshold: ptr(0), MinTokens: ptr(0), MaxTokens: ptr(9)})
				if err != nil {
					require.True(t, atomicfile.IsLink(err), "%v", err)
					continue
				}
				if which == 0 && name == mllog.DetailName {
					require.Contains(t, codes(r), "detail_missing", "%s: the link is as good as no log", test)
				}
				if len(r.Files) > 0 && which == 0 {
					out := t.TempDir()
					if err := r.Write(out); err != nil {
						require.True(t, atomicfile.IsLink(err), "%v", err)
					}
					require.NoFileExists(t, filepath.Join(out, test, "performance/run_1", name))
				}
			}
		}
	}
}

// If a component of the output path is a link, nothing is written to its target.
func TestNoLinkIsWrittenThrough(t *testing.T) {
	in := Input{Compliance: folder(t, accuracyLog(hundred()), ""), Scenario: models.Server, Row: llama8b}
	r, err := Verify(Test06, in)
	require.NoError(t, err)
	for _, link := range []string{"TEST06", "TEST06/accuracy", "TEST06/verify_accuracy.txt",
		"TEST06/accuracy/" + mllog.AccuracyName} {
		out, outside := t.TempDir(), t.TempDir()
		target := outside
		if filepath.Ext(link) != "" {
			target = filepath.Join(outside, "victim")
			require.NoError(t, os.WriteFile(target, []byte("keep"), 0o644))
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(out, link)), 0o755))
		require.NoError(t, os.Symlink(target, filepath.Join(out, link)))
		require.True(t, atomicfile.IsLink(r.Write(out)), link)
		require.NoError(t, filepath.WalkDir(outside, func(name string, e fs.DirEntry, err error) error {
			require.NoError(t, err)
			if !e.IsDir() {
				text, err := os.ReadFile(name)
				require.NoError(t, err)
				require.Equal(t, "keep", string(text))
				require.Equal(t, target, name)
			}
			return nil
		}))
	}
}
