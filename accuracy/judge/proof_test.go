package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
)

// dishonest are programs of one language that do not do what their tests require but try to pass. Each is inserted
// between head and a failing test of its own or of the language.
type dishonest struct {
	head, right, test string // test fails unless the code right precedes it
	programs          map[string]string
}

var dishonestOf = map[string]dishonest{
	"python": {
		right: "def double(n):\n    return 2 * n\n",
		test:  "\ndef check(candidate):\n    assert candidate(3) == 6\n    assert abs(candidate(4) - 8) == 0\n",
		programs: map[string]string{
			"leaves":             "import os\nos._exit(0)",
			"leaves when called": "import os\ndef double(n):\n    os._exit(0)",
			"another program":    "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'pass'])",
			"another in a call": "import os, sys\ndef double(n):\n    os.execv(sys.executable, [sys.executable, '-c', " +
				"'pass'])",
			"exits":             "import sys\nsys.exit(0)",
			"exits when called": "def double(n):\n    raise SystemExit(0)",
			"exits by name":     "def double(n):\n    exit(0)",
			"at the end":        "import atexit, os\natexit.register(os._exit, 0)\ndef double(n):\n    raise SystemExit",
			"a thread leaves": "import os, threading, time\nthreading.Thread(target=os._exit, " +
				"args=(0,)).start()\ntime.sleep(600)",
			"the parent leaves": "import os, time\nif os.fork():\n    os._exit(0)\ntime.sleep(600)",
			"kills the parent":  "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(0)",
			"kills its group":   "import os, signal\nos.killpg(0, signal.SIGTERM)\nos._exit(0)",
			"guesses a mark":    "import os\nfor n in (16, 32, 64): print('0' * n, flush=True)\nos._exit(0)",
			"reads the input":   "import os, sys\nprint(sys.stdin.read(), flush=True)\nos._exit(0)",
			"reads every input": "import os\nfor fd in range(64):\n    try: os.set_blocking(fd, False); print(os.read(fd, " +
				"4096), flush=True)\n    except OSError: pass\nos._exit(0)",
			"reads its files": "import glob, os, sys\nfor f in glob.glob('/work/*') + glob.glob('/tmp/*'): " +
				"print(open(f).read())\nprint(os.environ, sys.argv, sys.orig_argv, flush=True)\nos._exit(0)",
			"walks the frames": "import os, sys\nf = sys._getframe()\nwhile f:\n    print(f.f_locals, f.f_globals, " +
				"f.f_code.co_consts)\n    f = f.f_back\nsys.stdout.flush()\nos._exit(0)",
			"looks at all things": "import gc, os, sys\nprint(gc.get_objects(), sys.modules['__main__'].__dict__, " +
				"flush=True)\nos._exit(0)",
			"patches a builtin":  "import builtins\nbuiltins.AssertionError = SystemExit\ndef double(n):\n    return n",
			"patches comparison": "import builtins\nbuiltins.abs = lambda x: 0\ndef double(n):\n    return 6",
			"patches the harness": "import os\nos.write = lambda fd, data: print(data) or 1\nos._exit = lambda code: " +
				"None\ndef double(n):\n    return n",
			"hides what is raised": "import sys\nsys.excepthook = lambda *a: None\ndef double(n):\n    return n",
		},
	},
	"javascript": {
		right: "function double(n) { return 2 * n }\n",
		test:  "\nconst assert = require('assert')\nassert(double(3) === 6)\nassert.ok(double(4) === 8)\n",
		programs: map[string]string{
			"exits":             "process.exit(0)",
			"exits when called": "function double(n) { process.exit(0) }",
			"exits at once":     "process.reallyExit(0)",
			"returns":           "return",
			"another program": "require('child_process').spawnSync(process.execPath, ['-e', '0'], {stdio: " +
				"'inherit'})\nprocess.exit(0)",
			"hides what was thrown": "process.on('uncaughtException', () => {})\nfunction double(n) { return n }",
			"at the end":            "process.on('exit', () => { process.exitCode = 0 })\nfunction double(n) { return n }",
			"kills the parent":      "try { process.kill(process.ppid, 'SIGKILL') } catch {}\nprocess.exit(0)",
			"guesses a mark":        "for (const n of [16, 32, 64]) console.log('0'.repeat(n))\nprocess.exit(0)",
			"reads the input":       "console.log(require('fs').readFileSync(0, 'latin1'))\nprocess.exit(0)",
			"reads its files": "for (const f of require('fs').readdirSync(__dirname)) " +
				"console.log(require('fs').readFileSync(f, 'latin1'))\nconsole.log(process.env, process.argv)\nprocess.exit(0)",
			"reads its text": "console.log(arguments.callee.toString(), Object.keys(globalThis), " +
				"require.cache)\nprocess.exit(0)",
			"patches assert": "require('assert').ok = () => {}\nfunction double(n) { return 6 }",
			"patches require": "require('module').prototype.require = () => Object.assign(() => {}, {ok() " +
				"{}})\nfunction double(n) { return n }",
			"patches loading": "require('module')._load = () => Object.assign(() => {}, {ok() {}})\nfunction double(n) " +
				"{ return n }",
			"patches writing": "require('fs').writeSync = () => process.exit(0)\nfunction double(n) { return n }",
		},
	},
	"ruby": {
		right: "def double(n) = 2 * n\n", test: "\nraise 'no' unless double(3) == 6\n",
		programs: map[string]string{
			"exits":             "exit 0",
			"exits when called": "def double(n) = exit(0)",
			"exits at once":     "exit! 0",
			"returns":           "return",
			"ends the text":     "__END__",
			"another program":   "exec RbConfig.ruby, '-e', '0'",
			"at the end":        "at_exit { exit! 0 }\ndef double(n) = n",
			"kills the parent":  "begin; Process.kill(:KILL, Process.ppid); rescue; end\nexit! 0",
			"guesses a mark":    "[16, 32, 64].each { |n| puts '0' * n }\nSTDOUT.flush\nexit! 0",
			"reads the input":   "puts STDIN.read\nSTDOUT.flush\nexit! 0",
			"reads its files": "Dir['/work/*'].each { |f| puts File.read(f) }\np ENV.to_h, ARGV, global_variables, " +
				"TOPLEVEL_BINDING.local_variables\nSTDOUT.flush\nexit! 0",
			"patches raise": "def raise(*) = nil\ndef double(n) = n",
		},
	},
	"php": {
		head: "<?php\n", right: "function twice($n) { return 2 * $n; }\n",
		test: "\nif (twice(3) !== 6) { throw new Exception('no'); }\n",
		programs: map[string]string{
			"exits":                 "exit(0);",
			"exits when called":     "function twice($n) { exit(0); }",
			"returns":               "return;",
			"another program":       "pcntl_exec(PHP_BINARY, ['-r', '0;']);\nexit(0);",
			"another in a call":     "function twice($n) { pcntl_exec('/bin/true'); exit(0); }",
			"ends the program":      "?>",
			"stops the compiler":    "__halt_compiler();",
			"at the end":            "register_shutdown_function(function () { exit(0); });",
			"hides what was thrown": "set_exception_handler(function ($e) { exit(0); });\nfunction twice($n) { return $n; }",
			"guesses a mark":        "foreach ([16, 32, 64] as $n) { echo str_repeat('0', $n), \"\\n\"; }\nexit(0);",
			"reads the input":       "echo stream_get_contents(STDIN);\nexit(0);",
			"reads its files": "foreach (glob('/work/*') as $f) { echo file_get_contents($f); }\nvar_dump($GLOBALS, " +
				"$argv, getenv(), debug_backtrace());\nexit(0);",
		},
	},
	"cpp": {
		head:  "#include <cstdio>\n#include <cstdlib>\n#include <csignal>\n#include <unistd.h>\n#include <cassert>\n",
		right: "int twice(int n) { return 2 * n; }\n", test: "\nint main() { assert(twice(3) == 6); }\n",
		programs: map[string]string{
			"exits when called":  "int twice(int) { exit(0); }",
			"leaves when called": "int twice(int) { _exit(0); }",
			"leaves before main": "struct S { S() { _exit(0); } } s;\nint twice(int n) { return n; }",
			"another program":    "int twice(int) { execl(\"/bin/true\", \"true\", (char *)0); return 0; }",
			"catches the abort": "struct S { S() { signal(SIGABRT, [](int) { _exit(0); }); } } s;\nint twice(int n) { " +
				"return n; }",
			"switches asserts off": "#define NDEBUG\n#include <cassert>\nint twice(int n) { return n; }",
			"has its own assert":   "#undef assert\n#define assert(x) ((void)0)\nint twice(int n) { return n; }",
			"kills the parent":     "int twice(int) { kill(getppid(), SIGKILL); _exit(0); }",
			"guesses a mark":       "int twice(int) { puts(\"00000000000000000000000000000000\"); fflush(stdout); _exit(0); }",
			"reads the input": "struct S { S() { for (int c; (c = getchar()) != EOF;) putchar(c); fflush(stdout); " +
				"_exit(0); } } s;\nint twice(int n) { return n; }",
			"reads its files": "int twice(int) { execl(\"/bin/sh\", \"sh\", \"-c\", \"cat *; env\", (char *)0); return 0; }",
		},
	},
	"typescript": { // its compiler takes seconds per program; JavaScript covers what node itself may do
		head:  "declare var require: any; declare var process: any;\n",
		right: "function twice(n: number): number { return 2 * n }\n",
		test:  "\nif (twice(3) !== 6) { throw new Error('no') }\n",
		programs: map[string]string{
			"exits when called": "function twice(n: number): number { return process.exit(0) }",
			"reads its files": "for (const f of require('fs').readdirSync('.')) console.log(require('fs').readFileSync(f, " +
				"'latin1'))\nprocess.exit(0)",
		},
	},
}

// TestExitCodesProveNothing checks in every language that a program passes only if its tests ran to their end.
func TestExitCodesProveNothing(t *testing.T) {
	require.Len(t, dishonestOf, len(languages))
	for name, d := range dishonestOf {
		t.Run(name, func(t *testing.T) {
			j := judging(t, name)
			entry := "twice"
			if strings.Contains(d.test, "double") || name == "python" {
				entry = "double"
			}
			passes := func(code, tests string) bool {
				passed, err := j.JudgeCode(t.Context(), accuracy.CodeTask{Benchmark: accuracy.MBXP,
					Question: fmt.Sprintf("%s_%s", name, entry), Code: d.head + code, Tests: tests})
				require.NoError(t, err)
				return passed
			}
			require.True(t, passes(d.right, d.test), "a program that is right passes")
			for what, code := range d.programs {
				t.Run(what, func(t *testing.T) {
					t.Parallel()
					require.False(t, passes(code+"\n", d.test))
				})
			}
		})
	}
}
