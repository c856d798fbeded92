package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewer(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"2.29", "2.28", true},
		{"2.28", "2.28", false},
		{"2.28.1", "2.28", true},
		{"2.4", "2.28", false},
		{"3", "2.28", true},
		{"PRIVATE", "2.28", true},
	} {
		require.Equal(t, c.want, newer(c.a, c.b), "%s and %s", c.a, c.b)
	}
}

// compiled returns a program of one C source, compiled by this machine's compiler.
func compiled(t *testing.T, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.c"), []byte(source), 0o644))
	out, err := exec.Command("gcc", append([]string{"-o", filepath.Join(dir, "a"), filepath.Join(dir, "a.c")},
		flags...)...).
		CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "a")
}

func TestCheckListsFaultsOnAnOldSystem(t *testing.T) {
	open := []string{"-rdynamic", "-Wl,--unresolved-symbols=ignore-in-object-files"}
	err := check(compiled(t, "int nobody_has(void);\nint main(void) { return nobody_has(); }", open...))
	require.ErrorContains(t, err, "nobody_has is in no library of glibc 2.28")
	require.ErrorContains(t, err, "not stripped")

	// Symbols of NVIDIA's library may be undefined, and so may weak ones.
	const allowed = "int nvmlInit(void);\nint maybe(void) __attribute__((weak));\n" +
		"int main(void) { return maybe ? maybe() : nvmlInit(); }"
	if err := check(compiled(t, allowed, append(open, "-s")...)); err != nil {
		require.NotContains(t, err.Error(), "nvmlInit")
		require.NotContains(t, err.Error(), "maybe")
	}

	cpp := compiled(t, "int main(void) { return 0; }", "-s", "-Wl,--no-as-needed", "-lstdc++")
	require.ErrorContains(t, check(cpp), "loads libstdc++.so.6; link it statically")
	require.Error(t, check("check_test.go"), "no program at all")
}
