package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// realWait is how long a script waits for a real server on a busy machine.
const realWait = 2 * time.Minute

// The scripts of a real server run where scripts/test-real.sh has installed it.
func TestRealServers(t *testing.T) {
	name := os.Getenv("REAL_SERVER")
	if name == "" {
		t.Skip("a real server is driven by `make test-real`")
	}
	commands := scriptCommands()
	commands["grows"], commands["histograms"], commands["idle"] = cmdGrows, cmdHistograms, cmdIdle
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata/real", name), RequireExplicitExec: true, RequireUniqueNames: true, Condition: condition,
		Cmds: commands,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "NO_PROXY=*")
			for _, v := range []string{"REAL_HOME", "REAL_SCRIPTS", "PYTHONPATH"} {
				e.Vars = append(e.Vars, v+"="+os.Getenv(v))
			}
			return nil
		},
	})
}

// cmdGrows waits until the output tokens that a server counted have grown by some number: grows URL TOKENS
func cmdGrows(ts *testscript.TestScript, _ bool, args []string) {
	tokens, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	from := tokensOf(ts, args[0], "tokens.output")
	deadline := time.Now().Add(realWait)
	for tokensOf(ts, args[0], "tokens.output") < from+tokens {
		if time.Now().After(deadline) {
			ts.Fatalf("the tokens of %s did not grow by %v within %v", args[0], tokens, realWait)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
