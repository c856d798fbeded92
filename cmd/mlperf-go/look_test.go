package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// colours are the sequences that colour text on a terminal.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// requireFits requires that no line is longer than the terminal, unless it ends with a word of more than half a line.
// Such a word is not broken, so that it can be copied.
func requireFits(t *testing.T, columns int, command, text string) {
	t.Helper()
	for _, l := range strings.Split(escapes.ReplaceAllString(text, ""), "\n") {
		l = strings.TrimRight(l[strings.LastIndex(l, "\r")+1:], " ")
		words := strings.Fields(strings.TrimSuffix(l, ` \`))
		if utf8.RuneCountInString(l) > columns && utf8.RuneCountInString(words[len(words)-1]) <= columns/2 {
			t.Errorf("%s prints a line of %d columns:\n%s", command, utf8.RuneCountInString(l), l)
		}
	}
}

// All tables and the messages around them fit a terminal of 80 columns.
func TestEveryTableFitsATerminal(t *testing.T) {
	dir := t.TempDir()
	synth := exec.Command("mlperf-go", "dataset", "synth", "--samples", "24", "--output", filepath.Join(dir, "d.json"))
	require.NoError(t, synth.Run())
	commands := []struct {
		line string
		code int
		want string // in the output
	}{
		{"models", 0, "llama3.1-405b"},
		{"models qwen3-vl-235b-a22b", 0, "sources"},
		{"compliance needs", 0, "benchmark"},
		{"compliance needs --model llama3.1-8b", 0, "TEST06"},
		{"sim --list-faults", 0, "http_500"},
		{"dataset get llama3.1-8b", 0, "Fetch it with"},
		{"dataset get gpt-oss-120b", 0, "Fetch it with"},
		{"dataset info d.json --model llama3.1-8b", 0, "references"},
		{"dataset stats d.json --model llama3.1-8b", 0, "length"},
		{"server plan --backend sim --model-path some-model --replicas 2", 2, "mlperf-go:"},
		{"preflight --model llama3.1-8b --endpoint http://127.0.0.1:9 --dataset d.json", 3, "missing"},
		{"run --model llama3.1-8b --endpoint http://127.0.0.1:9 --dataset d.json", 3, "connection refused"},
		{"run --model llama3.1-8b --targetqps 3", 2, "unknown flag"},
		{"submission check nowhere", 2, "nowhere"},
		{"submission run --model llama3.1-8b --rehearsal-size tiny --output-dir dry --dry-run", 0, "rehearsal"},
		{"version", 0, "LoadGen"},
	}
	if loadgen.Built {
		url, _ := startSim(deferring{t}, filepath.Join(dir, "ready"), "--dataset", filepath.Join(dir, "d.json"))
		const tests = "camp/simulated/llama3.1-8b/Offline/"
		one := " --model llama3.1-8b --dataset d.json --endpoint " + url
		commands = append(commands, []struct {
			line string
			code int
			want string
		}{
			{"preflight" + one, 0, "token ids in"},
			{"run --output-dir run --metrics --metrics-interval 100ms" + one + " --samples 24 --min-queries 24", 0, "VALID"},
			{"run --output-dir bad --scenario Server --samples 24 --min-queries 50 --target-qps 200" + one + " --min-duration 0",
				1, "loadgen_invalid"},
			{"run --mode accuracy --output-dir acc" + one + " --samples 24 --no-score", 0, "VALID"},
			{"show run bad --answers", 0, "finish reason"},
			{"metrics summary run", 0, "Running requests"},
			{"submission --model llama3.1-8b-edge --rehearsal-size tiny --output-dir edge", 0, "The tree is a rehearsal"},
			{"submission check edge/submission", 0, "The submission is a rehearsal"},
			{"submission run --model llama3.1-8b --scenario Offline --rehearsal-size tiny --output-dir camp", 0,
				"SCENARIO/TEST"},
			{"submission status camp", 0, "Every step is done"},
			{"compliance verify --test TEST06 --model llama3.1-8b --scenario Offline --logs " + tests + "TEST06/mlperf", 1,
				"few_records"},
			{"accuracy --log " + tests + "accuracy", 0, "answers"},
			{"tune --output-dir tune" + one + " --scenario Server --budget 1s --min-duration 1s", 1, "not confirmed"},
		}...)
	}
	for _, c := range commands {
		code, text := inTerminalAt(t, dir, 80, []string{"TERM=xterm", "NO_COLOR="}, append([]string{"mlperf-go"},
			strings.Fields(c.line)...)...).end()
		require.Equal(t, c.code, code, "%s:\n%s", c.line, text)
		require.Contains(t, text, c.want, c.line)
		requireFits(t, 80, c.line, text)
	}
}

// A terminal shows green, red and yellow, but no colours with NO_COLOR or if it is dumb. A server's text has neither
// its own colours nor the program's.
func TestColour(t *testing.T) {
	dir := t.TempDir()
	const preflight = "preflight --model llama3.1-8b --endpoint "
	evil := "x\x1b[32mVALID ok"
	url, _ := startSim(deferring{t}, filepath.Join(dir, "ready"), "--model", evil)
	commands := []string{preflight + url, preflight + "http://127.0.0.1:9"}
	for _, c := range []struct {
		environ []string
		want    []string
	}{
		{[]string{"TERM=xterm-256color", "NO_COLOR="}, []string{"\x1b[32mok\x1b[0m", "\x1b[31mmissing\x1b[0m",
			"\x1b[31mmlperf-go:\x1b[0m"}},
		{[]string{"TERM=xterm-256color", "NO_COLOR=1"}, nil},
		{[]string{"TERM=dumb", "NO_COLOR="}, nil},
		{[]string{"TERM=", "NO_COLOR="}, nil},
	} {
		all := ""
		for _, line := range commands {
			_, text := inTerminalAt(t, dir, 80, c.environ, append([]string{"mlperf-go"}, strings.Fields(line)...)...).end()
			all += text
		}
		for _, want := range c.want {
			require.Contains(t, all, want)
		}
		require.NotContains(t, all, "\x1b[32mVALID", "the server's own colour")
		require.Contains(t, all, `x\x1b[32mVALID ok`)
		if c.want == nil {
			require.NotRegexp(t, colours, all, "%v", c.environ)
		}
	}
	if !loadgen.Built {
		return
	}
	_, text := inTerminalAt(t, dir, 80, []string{"TERM=xterm", "NO_COLOR="}, "mlperf-go", "run", "--model", "llama3.1-8b",
		"--samples", "16", "--min-queries", "16", "--output-dir", "run").end()
	require.Contains(t, text, "(rehearsal)  \x1b[32mVALID\x1b[0m\n")
	kept, err := os.ReadFile(filepath.Join(dir, "run", "summary.txt"))
	require.NoError(t, err)
	require.Contains(t, string(kept), "(rehearsal)  VALID\n", "a file has no colour")
}
