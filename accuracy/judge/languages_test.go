package judge

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
)

// hostile are programs of one language that exit with code 0 only if the sandbox has a hole. PORT, SECRET and OUTSIDE
// are replaced by a listening port, a file and a folder of this machine.
type hostile struct {
	head                                              string // code before every program
	right, wrong                                      string // programs that define double, tested with double(3) == 6
	loop, forks, memory, network, reads, writes, home string // home writes in its own folder, which is allowed
}

var hostiles = map[string]hostile{
	"python": {
		right: "def double(n):\n    return 2 * n\nassert double(3) == 6\n",
		wrong: "def double(n):\n    return n\nassert double(3) == 6\n",
		loop:  "while True:\n    pass\n", forks: "import os, time\nfor i in range(5000):\n    if os.fork() == 0:\n        " +
			"time.sleep(600)\n",
		memory:  "a = []\nfor i in range(2000):\n    a.append(bytearray(b'x' * 10000000))\n",
		network: "import socket\nsocket.create_connection(('127.0.0.1', PORT), 5)\n", reads: "open('SECRET').read()\n",
		writes: "open('OUTSIDE/x', 'w').write('x')\n", home: "open('x', 'w').write('x')\n",
	},
	"javascript": {
		right: "function double(n) { return 2 * n }\nrequire('assert')(double(3) === 6)\n",
		wrong: "function double(n) { return n }\nrequire('assert')(double(3) === 6)\n",
		loop:  "while (true) {}\n", forks: "const c = require('child_process');\nfor (let i = 0; i < 500; i++) { " +
			"c.spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600000)']).on('error', () => process.exit(1)) }\n",
		memory:  "const a = [];\nfor (let i = 0; i < 2000; i++) { a.push(Buffer.alloc(10000000, 1)) }\n",
		network: "require('net').connect(PORT, '127.0.0.1', () => process.exit(0)).on('error', () => process.exit(1))\n",
		reads:   "require('fs').readFileSync('SECRET')\n", writes: "require('fs').writeFileSync('OUTSIDE/x', 'x')\n",
		home: "require('fs').writeFileSync('x', 'x')\n",
	},
	"ruby": {
		right: "def double(n) = 2 * n\nraise 'no' unless double(3) == 6\n",
		wrong: "def double(n) = n\nraise 'no' unless double(3) == 6\n",
		loop:  "loop {}\n", forks: "5000.times { fork { sleep 600 } }\n",
		memory:  "a = []\n2000.times { a << 'x' * 10_000_000 }\n",
		network: "require 'socket'\nTCPSocket.new('127.0.0.1', PORT)\n", reads: "File.read('SECRET')\n",
		writes: "File.write('OUTSIDE/x', 'x')\n", home: "File.write('x', 'x')\n",
	},
	"php": {
		head: "<?php\nset_error_handler(function ($n, $text) { throw new Exception($text); });\nini_set('memory_limit', " +
			"'-1');\n", right: "function twice($n) { return 2 * $n; }\nif (twice(3) !== 6) { throw new Exception('no'); }\n",
		wrong: "function twice($n) { return $n; }\nif (twice(3) !== 6) { throw new Exception('no'); }\n",
		loop:  "while (true) {}\n", forks: "for ($i = 0; $i < 5000; $i++) { if (pcntl_fork() === 0) { sleep(600); } }\n",
		memory:  "$a = [];\nfor ($i = 0; $i < 2000; $i++) { $a[] = str_repeat('x', 10000000); }\n",
		network: "if (!fsockopen('127.0.0.1', PORT)) { exit(1); }\n",
		reads:   "if (file_get_contents('SECRET') === false) { exit(1); }\n",
		writes:  "file_put_contents('OUTSIDE/x', 'x');\n", home: "file_put_contents('x', 'x');\n",
	},
	"cpp": {
		head: "#include <cassert>\n#include <cstdio>\n#include <vector>\n#include <string>\n#include <unistd.h>\n#include " +
			"<arpa/inet.h>\n#include <sys/socket.h>\n",
		right: "int twice(int n) { return 2 * n; }\nint main() { assert(twice(3) == 6); }\n",
		wrong: "int twice(int n) { return n; }\nint main() { assert(twice(3) == 6); }\n",
		loop:  "int main() { for (volatile int i = 0;; i++) {} }\n",
		forks: "int main() { for (int i = 0; i < 5000; i++) { int p = fork(); if (p < 0) return 1; if (p == 0) { " +
			"sleep(600); return 0; } } }\n",
		memory: "int main() { std::vector<std::string> a; for (int i = 0; i < 2000; i++) " +
			"a.push_back(std::string(10000000, 'x')); }\n",
		network: "int main() { sockaddr_in a{}; a.sin_family = AF_INET; a.sin_port = htons(PORT); a.sin_addr.s_addr = " +
			"htonl(INADDR_LOOPBACK); return connect(socket(AF_INET, SOCK_STREAM, 0), (sockaddr *)&a, sizeof a) != 0; }\n",
		reads:  "int main() { return fopen(\"SECRET\", \"r\") == nullptr; }\n",
		writes: "int main() { return fopen(\"OUTSIDE/x\", \"w\") == nullptr; }\n",
		home:   "int main() { return fopen(\"x\", \"w\") == nullptr; }\n",
	},
	"typescript": { // its compiler takes seconds per program; JavaScript covers what node itself may do
		head:  "declare var require: any; declare var process: any;\n",
		right: "function twice(n: number): number { return 2 * n }\nif (twice(3) !== 6) { throw new Error('no') }\n",
		wrong: "function twice(n: number): number { return n }\nif (twice(3) !== 6) { throw new Error('no') }\n",
		loop:  "while (true) {}\n", network: "require('net').connect(PORT, '127.0.0.1', () => process.exit(0)).on('error', " +
			"() => process.exit(1))\n",
	},
}

// TestLanguagesRunInASandbox runs good and hostile programs in every installed language of MBXP.
func TestLanguagesRunInASandbox(t *testing.T) {
	require.Len(t, hostiles, len(languages))
	for name, h := range hostiles {
		t.Run(name, func(t *testing.T) {
			j := judging(t, name)
			r := j.runtimes[name]
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			var accepted atomic.Int32
			over := make(chan struct{})
			go func() {
				defer close(over)
				for {
					c, err := listener.Accept()
					if err != nil {
						return
					}
					accepted.Add(1)
					_ = c.Close()
				}
			}()
			outside := t.TempDir()
			secret := filepath.Join(outside, "secret")
			require.NoError(t, os.WriteFile(secret, []byte("s"), 0o644))
			places := strings.NewReplacer("PORT", fmt.Sprint(listener.Addr().(*net.TCPAddr).Port), "SECRET", secret, "OUTSIDE",
				outside)

			for _, c := range []struct {
				name, code string
				passes     bool
			}{{"right", h.right, true}, {"wrong", h.wrong, false}, {"its own folder", h.home, true}} {
				if c.code == "" {
					continue
				}
				passed, err := j.JudgeCode(t.Context(), accuracy.CodeTask{Benchmark: accuracy.MBXP, Question: name + "_twice",
					Code: h.head + c.code, Tests: "\n"})
				require.NoError(t, err, c.name)
				require.Equal(t, c.passes, passed, c.name)
			}
			for _, c := range []struct {
				name, code string
				ends       []sandbox.End // allowed ends; nil: the program exits by itself with an error
			}{
				{"loop", h.loop, []sandbox.End{sandbox.AtCPUTime, sandbox.AtWall, sandbox.BySignal}}, {"forks", h.forks, nil},
				{"memory", h.memory, []sandbox.End{sandbox.AtMemory, sandbox.BySignal, sandbox.ByItself}},
				{"network", h.network, nil}, {"reads", h.reads, nil}, {"writes", h.writes, nil},
			} {
				if c.code == "" || c.name == "loop" && r.shell {
					continue // languages with a compiler: the shell line ends the program after 20 seconds
				}
				l := r.limits(10 * time.Minute)
				if l.Memory = 400 << 20; c.name == "loop" {
					l.CPU = time.Second
				}
				result, err := r.attempt(t.Context(), places.Replace(h.head+c.code), "\n", "", l)
				require.NoError(t, err, c.name)
				require.False(t, result.proven, "%s: %s", c.name, result.Stderr)
				if c.ends != nil && !r.shell {
					require.Contains(t, c.ends, result.End, "%s: %s", c.name, result.Stderr)
				}
			}
			require.NoError(t, listener.Close())
			<-over
			require.Zero(t, accepted.Load(), "a program has reached this machine's network")
			left, err := os.ReadDir(outside)
			require.NoError(t, err)
			require.Len(t, left, 1, "a program has written into this machine's folder")
		})
	}
}
