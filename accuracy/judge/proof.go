package judge

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/sandbox"
)

// A program can end with exit code 0 before its tests have passed: by os._exit(0), by replacing itself with another
// program, by returning early. Each run therefore gets a secret on its standard input. The harness reads the secret
// before the program starts, runs the program with its tests, and writes the secret after the last test has passed. In
// an interpreted language a mark after the tests shows the harness that the text ran to its end.

//go:embed proof
var harnesses embed.FS

// markPlace is the placeholder for the mark's name in a harness and after the tests.
const markPlace = "DONE"

// proof is the harness of one language.
type proof struct {
	harness string // path of the harness in the embedded folder proof
	as      string // file name of the harness in the sandbox
	end     string // code after the tests that sets the mark; empty: the harness detects the end itself
}

// attempt is one run of a program with its tests.
type attempt struct {
	*sandbox.Result
	proven bool // all tests ran to their end and passed
}

// attempt runs a program with its tests.
func (r *runtime) attempt(ctx context.Context, code, tests, entry string, l sandbox.Limits) (*attempt, error) {
	secret, mark := token(), "done_"+token()
	p := r.program(r.files(code, tests, entry, mark))
	p.Stdin = []byte(secret)
	result, err := sandbox.Run(ctx, p, l)
	if err != nil {
		return nil, err
	}
	return &attempt{result, result.OK() && bytes.Contains(result.Stdout, p.Stdin)}, nil
}

// token returns 128 random bits in hexadecimal.
func token() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// files returns the program with its tests, and the harness.
func (l *language) files(code, tests, entry, mark string) map[string][]byte {
	harness, err := harnesses.ReadFile("proof/" + l.proof.harness)
	if err != nil {
		panic(err) // the table of languages names a file that is not embedded
	}
	named := func(text string) []byte { return []byte(strings.ReplaceAll(text, markPlace, mark)) }
	return map[string][]byte{l.file: append([]byte(l.join(code, tests, entry)), named(l.proof.end)...),
		l.proof.as: named(string(harness))}
}
