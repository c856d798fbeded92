package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// second puts a stream where the second run of another is expected.
func second(t *testing.T, first, again string) {
	t.Helper()
	require.NoError(t, os.Rename(again, strings.TrimSuffix(first, ".json")+againSuffix))
}

func toRunAgain(t *testing.T, path string) string {
	t.Helper()
	var out bytes.Buffer
	require.Equal(t, 0, mainCode([]string{"-again", path}, strings.NewReader(""), &out))
	return out.String()
}

const mended = `package a
import "testing"
func TestBad(t *testing.T) { t.Run("case", func(t *testing.T) {}) }
`

func TestATestThatPassesByItselfIsListedAsFlaky(t *testing.T) {
	path := stream(t, mixed)
	require.Equal(t, "example ^TestBad$\n", toRunAgain(t, path))
	second(t, path, stream(t, mended))
	out, code := total(t, path)
	require.Equal(t, 0, code, out)
	require.Contains(t, out, "FLAKY example TestBad/case: failed, and passed when it ran again by itself\n")
	require.Contains(t, out, "went wrong", "the failure's output stays to be read")
	require.True(t, strings.HasSuffix(out, "\n5 passed, 0 failed, 1 skipped\n"), out)
}

// The scripts are parallel parts of one test that takes ten minutes.
func TestParallelPartsRunAgainAlone(t *testing.T) {
	const head = "package a\nimport \"testing\"\nfunc TestBad(t *testing.T) { "
	part := func(name, body string) string {
		return `t.Run("` + name + `", func(t *testing.T) { t.Parallel(); ` + body + `}); `
	}
	path := stream(t, head+part("good", "")+part("a.b c", "t.Error(1)")+part("d", "t.Error(2)")+"}\n")
	require.Equal(t, "example ^TestBad$/^(a\\.b_c|d)$\n", toRunAgain(t, path))
	second(t, path, stream(t, head+part("a.b c", "")+part("d", "")+"}\n"))
	out, code := total(t, path)
	require.Equal(t, 0, code, out)
	require.Contains(t, out, "FLAKY example TestBad/d: ")

	path = stream(t, head+part("a", "t.Error(1)")+`t.Run("b", func(t *testing.T) { t.Error(2) }) }`+"\n")
	require.Equal(t, "example ^TestBad$\n", toRunAgain(t, path), "a part that is not parallel may need another")
}

func TestATestThatFailsTwiceHasFailed(t *testing.T) {
	path := stream(t, mixed)
	second(t, path, stream(t, mixed))
	out, code := total(t, path)
	require.Equal(t, 1, code)
	require.True(t, strings.HasSuffix(out, "\n3 passed, 2 failed, 1 skipped\n"), out)
}

func TestASkipInTheSecondRunForgivesNothing(t *testing.T) {
	for what, body := range map[string]string{
		"the failed part": `t.Run("case", func(t *testing.T) { t.Skip("not now") })`,
		"the whole test":  `t.Skip("not now")`,
		"a part beside it": `t.Run("case", func(t *testing.T) {}); ` +
			`t.Run("other", func(t *testing.T) { t.Skip("not now") })`,
	} {
		path := stream(t, mixed)
		second(t, path, stream(t, "package a\nimport \"testing\"\nfunc TestBad(t *testing.T) { "+body+" }\n"))
		out, code := total(t, path)
		require.Equal(t, 1, code, what)
		require.NotContains(t, out, "FLAKY", what)
		require.True(t, strings.HasSuffix(out, "\n3 passed, 2 failed, 1 skipped\n"), "%s: %s", what, out)
	}
}

// A skip of a part that never runs on this machine does not affect the part that failed.
func TestASkipInBothRunsIsNoHindrance(t *testing.T) {
	const head = "package a\nimport \"testing\"\nfunc TestBad(t *testing.T) { " +
		`t.Run("never", func(t *testing.T) { t.Skip("not here") }); `
	path := stream(t, head+`t.Run("case", func(t *testing.T) { t.Error("late") }) }`+"\n")
	second(t, path, stream(t, head+`t.Run("case", func(t *testing.T) {}) }`+"\n"))
	out, code := total(t, path)
	require.Equal(t, 0, code, out)
	require.True(t, strings.HasSuffix(out, "\n2 passed, 0 failed, 1 skipped\n"), out)
}

func TestASecondRunThatDoesNotBuildForgivesNothing(t *testing.T) {
	path := stream(t, mixed)
	second(t, path, stream(t, "package a\nvar x int = \"text\"\n"))
	_, code := total(t, path)
	require.Equal(t, 1, code)
}

func TestOtherFaultsGetNoSecondRun(t *testing.T) {
	for what, body := range map[string]string{
		"a race":                  `t.Error("WARNING: DATA RACE")`,
		"a panic":                 `panic("out of range")`,
		"a leak":                  `t.Error("found unexpected goroutines: one")`,
		"beside one of its kinds": `t.Error("late"); go func() { panic("elsewhere") }(); select {}`,
	} {
		path := stream(t, "package a\nimport \"testing\"\nfunc TestBad(t *testing.T) { "+body+" }\n")
		require.Empty(t, toRunAgain(t, path), what)
	}
	path := stream(t, "package a\nimport (\"os\"; \"testing\")\nfunc TestMain(*testing.M) { os.Exit(7) }\n")
	require.Empty(t, toRunAgain(t, path), "a package that dies")
}

func TestManyFailuresAreNoAccident(t *testing.T) {
	var file strings.Builder
	file.WriteString("package a\nimport \"testing\"\n")
	for _, name := range strings.Split("ABCDEFG", "") {
		file.WriteString("func Test" + name + "(t *testing.T) { t.Error() }\n")
	}
	require.Empty(t, toRunAgain(t, stream(t, file.String())))
}
