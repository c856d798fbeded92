package judge

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// grades is a grader of sums in a few lines of Python.
func grades(t *testing.T, code string) *Grader {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 here")
	}
	path := filepath.Join(t.TempDir(), "grader.py")
	require.NoError(t, os.WriteFile(path, []byte("import sys, json, time\nfor line in sys.stdin:\n  q = json.loads(line)\n  "+code+"\n  sys.stdout.flush()\n"), 0o644))
	g, err := NewGrader("python3 " + path)
	require.NoError(t, err)
	return g
}

func TestGrader(t *testing.T) {
	g := grades(t, "print(json.dumps({'equal': eval(q['given']) == eval(q['truth'])}))")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 5 {
				equal, err := g.Equal(t.Context(), "1+2", map[bool]string{true: "3", false: "4"}[i%2 == 0])
				if err != nil || equal != (i%2 == 0) {
					t.Errorf("%v %v", equal, err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, g.Close())
}

func TestGraderThatFails(t *testing.T) {
	for code, want := range map[string]string{
		"print('yes')":                         "expected {\"equal\": true}",
		"print('{}')":                          "expected {\"equal\": true}",
		"sys.exit(1)":                          "gives no answer",
		"sys.stdout.write('x' * (1 << 20))":    "gives no answer",
		"print(json.dumps({'equal': 'true'}))": "expected {\"equal\": true}",
	} {
		g := grades(t, code)
		_, err := g.Equal(t.Context(), "1", "1")
		require.ErrorContains(t, err, want)
		require.NoError(t, g.Close())
	}
	g := grades(t, "time.sleep(1000)")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := g.Equal(ctx, "1", "1")
	require.ErrorContains(t, err, "gives no answer")
	for _, command := range []string{"", "no-such-grader-anywhere"} {
		_, err := NewGrader(command)
		require.Error(t, err)
	}
}
