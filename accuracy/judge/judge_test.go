package judge

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Enter(os.Args, os.Environ())
	goleak.VerifyTestMain(m)
}

// shared is the judge of all tests, because finding the runtimes takes as long as a compiler.
var shared = sync.OnceValues(func() (*Judge, error) {
	return New(context.Background(), Options{Environ: os.Environ()})
})

func judging(t *testing.T, language string) *Judge {
	t.Helper()
	j, err := shared()
	var u *sandbox.Unavailable
	if errors.As(err, &u) {
		t.Skip(err)
	}
	require.NoError(t, err)
	if missing := j.runtimes[language].missing; missing != "" {
		t.Skip(missing)
	}
	return j
}

func TestMBXP(t *testing.T) {
	for _, c := range []struct {
		name, question, code, tests string
		passed                      bool
	}{
		{"python", "python_double", "def double(n):\n    return 2 * n\n",
			"def check(candidate):\n    assert candidate(3) == 6\n", true},
		{"python wrong", "python_double", "def double(n):\n    return 3 * n\n",
			"def check(candidate):\n    assert candidate(3) == 6\n", false},
		{"python leaves early", "python_double", "import sys\nsys.exit(0)\n", "def check(candidate):\n    assert False\n",
			false},
		{"python leaves at once", "python_double", "import os\nos._exit(0)\n", "", false},
		{"python is no program", "python_double", "def double(n)", "def check(c): pass", false},
		{"python's own main does not run", "python_double",
			"def double(n):\n    return 2 * n\nif __name__ == '__main__':\n    raise ValueError\n",
			"def check(candidate):\n    assert candidate(3) == 6\n", true},
		{"python opens a connection", "python_double", "import socket\nsocket.socket()\n", "def check(c): pass", false},
		{"javascript", "javascript_double", "function double(n) { return 2 * n }\n", "require('assert')(double(3) === 6)",
			true},
		{"javascript wrong", "javascript_double", "function double(n) { return n }\n", "require('assert')(double(3) === 6)",
			false},
		{"cpp", "cpp_double", "#include <cassert>\nint twice(int n) { return 2 * n; }\n",
			"int main() { assert(twice(3) == 6); }", true},
		{"cpp wrong", "cpp_double", "#include <cassert>\nint twice(int n) { return n; }\n",
			"int main() { assert(twice(3) == 6); }", false},
		{"cpp does not compile", "cpp_double", "int twice(", "int main() {}", false},
		{"ruby", "ruby_double", "def double(n) = 2 * n\n", "raise 'no' unless double(3) == 6", true},
		{"php", "php_double", "<?php\nfunction double_of($n) { return 2 * $n; }\n",
			"if (double_of(3) !== 6) { throw new Exception('no'); }", true},
		{"typescript", "typescript_double", "function double(n: number): number { return 2 * n }\n",
			"if (double(3) !== 6) { throw new Error('no') }", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			language, _, _ := strings.Cut(c.question, "_")
			j := judging(t, language)
			if c.tests == "" {
				c.tests = "def check(c):\n    assert False\n"
			}
			passed, err := j.JudgeCode(t.Context(), accuracy.CodeTask{Benchmark: accuracy.MBXP, Question: c.question,
				Code: c.code, Tests: c.tests})
			require.NoError(t, err)
			require.Equal(t, c.passed, passed)
		})
	}
}

func TestReportsWhatItCannotJudge(t *testing.T) {
	j := judging(t, "python")
	without := &Judge{runtimes: map[string]*runtime{"ruby": {language: languages["ruby"],
		missing: "ruby is not installed"}, "python": {language: languages["python"], missing: "python3 is not installed"}}}
	for _, c := range []struct {
		j    *Judge
		task accuracy.CodeTask
		want string
	}{
		{without, accuracy.CodeTask{Benchmark: accuracy.MBXP, Question: "ruby_f"}, "ruby: ruby is not installed"},
		{without, accuracy.CodeTask{Benchmark: accuracy.MBXP, Question: "cobol_f"},
			"programs in cobol cannot be run on this machine"},
		{j, accuracy.CodeTask{Benchmark: accuracy.MBXP, Question: "python_f"}, "no tests"},
		{j, accuracy.CodeTask{Benchmark: accuracy.LiveCodeBench, Question: "q"}, "no file with LiveCodeBench's tests"},
		{&Judge{runtimes: without.runtimes, tests: &testFile{}},
			accuracy.CodeTask{Benchmark: accuracy.LiveCodeBench, Question: "q"}, "python3 is not installed"},
		{&Judge{runtimes: j.runtimes, tests: &testFile{}},
			accuracy.CodeTask{Benchmark: accuracy.LiveCodeBench, Question: "q"}, "has no question"},
	} {
		_, err := c.j.JudgeCode(t.Context(), c.task)
		var u *accuracy.Unjudged
		require.ErrorAs(t, err, &u)
		require.ErrorContains(t, err, c.want)
	}
	require.Contains(t, strings.Join(without.Describe(), "\n"), "ruby: ruby is not installed")
	r := j.runtimes["javascript"]
	require.Equal(t, "lodash", r.lacks([]byte("Error: Cannot find module 'lodash'\nRequire stack"),
		`const _ = require("lodash")`))
	require.Empty(t, r.lacks([]byte("Error: Cannot find module 'left-pad'"), `const _ = require("lodash")`),
		"the program itself asked for it")
}

// questionFile writes a file of tests in LiveCodeBench's format, with the private tests as JSON or packed.
func questionFile(t *testing.T) string {
	t.Helper()
	packed := func(cases string) string {
		pickle := []byte{opProto, 4, opFrame, 0, 0, 0, 0, 0, 0, 0, 0, opText}
		pickle = binary.LittleEndian.AppendUint32(pickle, uint32(len(cases)))
		pickle = append(append(pickle, cases...), opMemoize, opStop)
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, err := z.Write(pickle)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		return base64.StdEncoding.EncodeToString(b.Bytes())
	}
	var file bytes.Buffer
	for _, row := range []map[string]string{
		{"question_id": "sum", "public_test_cases": `[{"input": "1 2\n", "output": "3"}]`,
			"private_test_cases": packed(`[{"input": "5 6\n", "output": "11\n"}]`), "metadata": "{}"},
		{"question_id": "pair", "public_test_cases": `[{"input": "1\n\"a\"", "output": "[1, \"a\"]"}]`,
			"private_test_cases": `[{"input": "2.5\n\"b\"", "output": "[2.5, \"b\"]"}]`, "metadata": `{"func_name": "pair"}`},
		{"question_id": "empty", "public_test_cases": `[]`},
		{"question_id": "broken", "public_test_cases": `{`},
	} {
		require.NoError(t, json.NewEncoder(&file).Encode(row))
	}
	path := filepath.Join(t.TempDir(), "test.jsonl")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o644))
	return path
}

func TestLiveCodeBench(t *testing.T) {
	j := judging(t, "python")
	tests, err := openTests(t.Context(), questionFile(t))
	require.NoError(t, err)
	j = &Judge{runtimes: j.runtimes, tests: tests}
	defer func() { require.NoError(t, j.Close()) }()
	const reads = "a, b = map(int, input().split())\n"
	for _, c := range []struct {
		name, question, code string
		passed               bool
	}{
		{"prints", "sum", reads + "print(a + b)", true},
		{"prints as a decimal", "sum", reads + "print(f'{a + b}.00')", true},
		{"prints more", "sum", reads + "print(a + b)\nprint()\nprint(0)", false},
		{"one of two", "sum", reads + "print(3)", false},
		{"has a main", "sum", "def main():\n  " + reads + "  print(a + b)\nif __name__ == '__main__':\n  main()", true},
		{"reads all", "sum", "import sys\nprint(sum(map(int, sys.stdin.read().split())))", true},
		{"reads bytes", "sum", "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))", true},
		// As in the reference, the names available to every program include the original open, which the test replaced.
		{"reads the descriptor", "sum", "print(sum(map(int, open(0).read().split())))", false},
		{"leaves when done", "sum", "import sys\n" + reads + "print(a + b)\nsys.exit()", true},
		{"uses names it was not given", "sum", "print(reduce(add, map(int, input().split())))", true},
		{"raises", "sum", reads + "print(a + b)\nraise ValueError", false},
		{"is no program", "sum", "print(", false},
		{"forges an answer", "sum", "import os\nos.write(1, b'{\"text\": \"3\"}\\n{\"text\": \"11\"}\\n')\nos._exit(0)",
			false},
		{"returns", "pair", "def pair(n, s):\n  return [n, s]", true},
		{"returns a tuple", "pair", "class Solution:\n  def pair(self, n, s):\n    print('noise')\n    return n, s", true},
		{"returns another type", "pair", "def pair(n, s):\n  return [str(n), s]", false},
		{"has no such function", "pair", "def other(n, s):\n  return [n, s]", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			passed, err := j.JudgeCode(t.Context(), accuracy.CodeTask{Benchmark: accuracy.LiveCodeBenchQuick,
				Question: c.question, Code: c.code})
			require.NoError(t, err)
			require.Equal(t, c.passed, passed)
		})
	}
	// Without a file, the row's own tests decide; they have the format of a line in the file.
	rows := &Judge{runtimes: j.runtimes}
	const own = `{"public_test_cases":"[{\"input\":\"1\",\"output\":\"3\"}]","private_test_cases":"[{\"input\":\"5\",\"output\":\"7\"}]"}`
	for code, want := range map[string]bool{"print(int(input()) + 2)": true, "print(3)": false} {
		passed, err := rows.JudgeCode(t.Context(), accuracy.CodeTask{Benchmark: accuracy.LiveCodeBench, Question: "own",
			Code: code, Tests: own})
		require.NoError(t, err)
		require.Equal(t, want, passed)
	}
	_, err = rows.JudgeCode(t.Context(), accuracy.CodeTask{Benchmark: accuracy.LiveCodeBench, Question: "own",
		Tests: "{}"})
	require.ErrorContains(t, err, `reading the tests of question "own" from its row: public_test_cases`)
	for question, want := range map[string]string{"empty": "no tests", "broken": "public_test_cases"} {
		_, err := j.JudgeCode(t.Context(), accuracy.CodeTask{Benchmark: accuracy.LiveCodeBench, Question: question})
		require.ErrorContains(t, err, want)
	}
}

func TestOpenTests(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.jsonl")
	_, err := openTests(t.Context(), path)
	require.ErrorContains(t, err, "--code-tests")
	_, err = openTests(t.Context(), folder)
	require.ErrorContains(t, err, "no *.jsonl files")
	for text, want := range map[string]string{"{": "line 1", "{}\n": "it has no question_id",
		"\n{\"question_id\": \"a\"}\n[]": "line 3"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err = openTests(t.Context(), folder)
		require.ErrorContains(t, err, want)
	}
}

func FuzzPickledText(f *testing.F) {
	f.Add([]byte("\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94."))
	f.Add([]byte("X\x02\x00\x00\x00abq\x00."))
	f.Fuzz(func(t *testing.T, p []byte) {
		text, err := pickledText(p)
		if err == nil {
			require.LessOrEqual(t, len(text), len(p))
		}
	})
}

func TestPickledText(t *testing.T) {
	for pickle, want := range map[string]string{
		"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94.": "a",
		"X\x02\x00\x00\x00abq\x00.":                                  "ab",
		"\x80\x02X\x02\x00\x00\x00abq\x00.":                          "ab",
	} {
		text, err := pickledText([]byte(pickle))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	for _, pickle := range []string{"", ".", "X\xff\x00\x00\x00a", "X\xff", "cos\nsystem\n(S'true'\ntR.",
		"\x8c\x01a\x8c\x01b."} {
		_, err := pickledText([]byte(pickle))
		require.Error(t, err, "%q", pickle)
	}
}

func TestCompares(t *testing.T) {
	for _, c := range []struct {
		got, want string
		same      bool
	}{
		{"3\n", " 3", true}, {"a \nb", "a\n b\n", true}, {"a\n\nb", "a\nb", false}, {"", "\n", true},
		{"1.50 2", "1.5 2.0", true}, {"1e2", "100", true}, {"1E+2", "100", true}, {"100", "1e3", false}, {"-0", "0", true},
		{"0.1", "1e-1", true}, {"1_0", "10", true},
		{"inf", "Infinity", true}, {"-inf", "inf", false}, {"nan", "NaN", false}, {"1 x", "1 y", false}, {"1", "1 1", false},
		{".5", "0.5", true}, {"5.", "5", true}, {".", "0", false},
		{"1e99999999999999999999", "1", false}, {"12345678901234567890123", "12345678901234567890124", false},
		{"1e", "1", false},
	} {
		require.Equal(t, c.same, sameText(c.got, c.want), "%q %q", c.got, c.want)
	}
	for _, c := range []struct {
		got, want string
		same      bool
	}{
		{`["int","1"]`, `1`, true}, {`["int","1"]`, `1.0`, true}, {`["bool",true]`, `1`, true},
		{`["bool",true]`, `true`, true}, {`["bool",false]`, `true`, false},
		{`["float","0.1"]`, `0.1`, true}, {`["float","0.30000000000000004"]`, `0.3`, false}, {`["float","nan"]`, `0`, false},
		{`["float","inf"]`, `1e999`, false},
		{`["text","a"]`, `"a"`, true}, {`["text","1"]`, `1`, false}, {`["none"]`, `null`, true}, {`["none"]`, `0`, false},
		{`["other"]`, `null`, false},
		{`["list",[["int","1"],["text","b"]]]`, `[1, "b"]`, true}, {`["list",[]]`, `[1]`, false},
		{`["list",[]]`, `{}`, false},
		{`["dict",[[["text","k"],["int","1"]]]]`, `{"k": 1}`, true},
		{`["dict",[[["int","1"],["int","1"]]]]`, `{"1": 1}`, false}, {`["dict",[]]`, `{"k": 1}`, false},
		{`["int","1"]`, `1 2`, false}, {`["int","1"]`, ``, false}, {`null`, `null`, false}, {`["int"]`, `1`, false},
		{`["int","x"]`, `1`, false},
		{`["int","9007199254740993"]`, `9007199254740992.0`, false},
		{fmt.Sprintf(`["int","%s"]`, strings.Repeat("9", mostDigits+1)), strings.Repeat("9", mostDigits+1), false},
	} {
		require.Equal(t, c.same, sameReturned(json.RawMessage(c.got), c.want), "%.60q %.60q", c.got, c.want)
	}
}

func FuzzCompares(f *testing.F) {
	f.Add("1.5 2", "3e1")
	f.Add(`["list",[["int","1"]]]`, `[1]`)
	f.Fuzz(func(t *testing.T, a, b string) {
		require.True(t, sameText(a, a))
		require.Equal(t, sameText(a, b), sameText(b, a))
		sameReturned(json.RawMessage(a), b)
	})
}
