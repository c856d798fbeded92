package judge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/sandbox"
)

// graderFile writes a grader in Python. code answers one question, which it finds in the variable q.
func graderFile(t *testing.T, code string) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 here")
	}
	path := filepath.Join(t.TempDir(), "grader.py")
	text := "#!/usr/bin/env python3\nimport sys, json, time\nfor line in sys.stdin:\n  q = json.loads(line)\n  " + code +
		"\n  sys.stdout.flush()\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

// grades returns a grader. It skips the test if there is no sandbox.
func grades(t *testing.T, command string) (*Grader, error) {
	t.Helper()
	g, err := NewGrader(t.Context(), command, os.Environ())
	var u *sandbox.Unavailable
	if errors.As(err, &u) {
		t.Skip(err)
	}
	return g, err
}

const evaluates = "print(json.dumps({'equal': bool(eval(q['given']) == eval(q['truth']))}))"

func TestGrader(t *testing.T) {
	g, err := grades(t, "python3 "+graderFile(t, evaluates))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			equal, err := g.Equal(t.Context(), "1+2", map[bool]string{true: "3", false: "4"}[i%2 == 0])
			if err != nil || equal != (i%2 == 0) {
				t.Errorf("%v %v", equal, err)
			}
		})
	}
	wg.Wait()
	// A script that the command names directly, without an interpreter.
	g, err = grades(t, graderFile(t, evaluates))
	require.NoError(t, err)
	equal, err := g.Equal(t.Context(), "2*3", "6")
	require.NoError(t, err)
	require.True(t, equal)
}

// TestGraderRunsInASandbox lets the grader evaluate hostile expressions, which must reach neither this machine nor the
// next question.
func TestGraderRunsInASandbox(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s"), 0o644))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	t.Setenv("SECRET_OF_THIS_TEST", "s")
	g, err := grades(t, "python3 "+graderFile(t,
		"try: a = eval(q['given'])\n  except Exception: a = 'raised'\n  print(json.dumps({'equal': a == eval(q['truth'])}))"))
	require.NoError(t, err)
	for _, given := range []string{
		fmt.Sprintf("open(%q).read()", secret), fmt.Sprintf("open(%q, 'w')", secret),
		fmt.Sprintf("__import__('socket').create_connection(('127.0.0.1', %d), 2)", listener.Addr().(*net.TCPAddr).Port),
		"__import__('os').kill(2, 9)", "__import__('os').environ['SECRET_OF_THIS_TEST']",
	} {
		equal, err := g.Equal(t.Context(), given, "'raised'")
		require.NoError(t, err)
		require.True(t, equal, given)
	}
	_, err = g.Equal(t.Context(), "setattr(__import__('builtins'), 'remembered', 1)", "1")
	require.NoError(t, err)
	equal, err := g.Equal(t.Context(), "hasattr(__import__('builtins'), 'remembered')", "False")
	require.NoError(t, err)
	require.True(t, equal, "each question has a process of its own")
	// Expressions that exceed the sandbox's memory or crash the grader: the pair counts as unequal.
	for _, given := range []string{"bytearray(1 << 36) or [bytearray(b'x') * (1 << 30) for i in range(6)]",
		"__import__('os').abort()"} {
		equal, err = g.Equal(t.Context(), given, "1")
		require.NoError(t, err)
		require.False(t, equal, given)
	}
}

func TestGraderThatFails(t *testing.T) {
	for code, want := range map[string]string{
		"print('yes')":                         "expected {\"equal\": true}",
		"print('{}')":                          "expected {\"equal\": true}",
		"sys.exit('it is broken')":             "its errors end with: \"it is broken\"",
		"sys.stdout.write('x' * (1 << 20))":    "expected {\"equal\": true}",
		"print(json.dumps({'equal': 'true'}))": "expected {\"equal\": true}",
		"print(json.dumps({'equal': False}))":  "that 1 equals 1",
	} {
		_, err := grades(t, "python3 "+graderFile(t, code))
		require.ErrorContains(t, err, want)
	}
	g, err := grades(t, "python3 "+graderFile(t, "if q['given'] != '1': time.sleep(1000)\n  "+evaluates))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = g.Equal(ctx, "2", "1")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, command := range []string{"", "no-such-grader-anywhere", "python3 " + t.TempDir()} {
		_, err := grades(t, command)
		require.Error(t, err, command)
	}
}

// TestGraderWithAlgebra runs the reference's algebra system in the sandbox.
func TestGraderWithAlgebra(t *testing.T) {
	if exec.Command("python3", "-c", "import sympy").Run() != nil {
		t.Skip("there is no sympy here")
	}
	g, err := grades(t, "python3 "+graderFile(t,
		"from sympy.parsing.sympy_parser import parse_expr as p; from sympy import simplify; print(json.dumps({'equal': "+
			"bool(simplify(p(q['given']) - p(q['truth'])) == 0)}))"))
	require.NoError(t, err)
	equal, err := g.Equal(t.Context(), "(x + 1)**2", "x**2 + 2*x + 1")
	require.NoError(t, err)
	require.True(t, equal)
}
