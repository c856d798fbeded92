package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/backends"
)

func TestCandidates(t *testing.T) {
	app := newTestProgram().app()
	for _, c := range []struct {
		shell, line string // the cursor is at the end of the line
		has, lacks  string // words among the candidates
	}{
		{"zsh", "mlperf-go ", "run submission dataset help", "-h __complete"},
		{"zsh", "mlperf-go sub", "submission", "run"},
		{"zsh", "mlperf-go --json da", "dataset", "run"},
		{"zsh", "mlperf-go submission ", "run check build", "submission"},
		{"zsh", "mlperf-go help submission c", "check", "run"},
		{"zsh", "mlperf-go run --tar", "--target-qps", "--ttft-limit"},
		{"zsh", "mlperf-go run --model x --mo", "--mode --model-path", "--model --num-workers"},
		{"zsh", "mlperf-go run --endpoint a --end", "--endpoint", ""},
		{"zsh", "mlperf-go run --model llama3.1-4", "llama3.1-405b", "llama3.1-8b :files"},
		{"zsh", "mlperf-go run --scenario ", "Offline Server Interactive SingleStream", ""},
		{"zsh", "mlperf-go run --api c", "completions chat", "generate"},
		{"zsh", "mlperf-go run --backend ", strings.Join(backends.Names(), " "), ""},
		{"zsh", "mlperf-go run --dataset x", ":files", ""},
		{"zsh", "mlperf-go run --output-dir ", ":folders", ""},
		{"zsh", "mlperf-go run --target-qps ", "", ":files"},
		{"zsh", "mlperf-go run --model=llama3.1-4", "llama3.1-405b", ""},
		{"fish", "mlperf-go run --model=llama3.1-4", "--model=llama3.1-405b", ""},
		{"fish", "mlperf-go run --dataset=prom", ":files", ""},
		{"bash", "mlperf-go run --model = llama3.1-4", "llama3.1-405b", "--model=llama3.1-405b"},
		{"bash", "mlperf-go run --model =", "llama3.1-8b", "--model"},
		{"zsh", "mlperf-go run --no-progress=", "true false", ""},
		{"zsh", "mlperf-go sim --answers ", "reference echo random", ":files"},
		{"zsh", "mlperf-go sim --model ", "", "llama3.1-8b"},
		{"zsh", "mlperf-go sim --fault cut", "cut_mid=", "http_500="},
		{"zsh", "mlperf-go models ", "llama3.1-8b", ""},
		{"zsh", "mlperf-go dataset check ", ":files", ""},
		{"zsh", "mlperf-go submission check ", ":folders", ""},
		{"zsh", "mlperf-go completion ", "bash zsh fish", ""},
		{"zsh", "mlperf-go run ", "", ":files run"},
		{"zsh", "mlperf-go metrics summary ", ":files", "RUN"},
		{"zsh", "mlperf-go server up --server-config f -- --m", "", "--model-path"},
		{"zsh", "mlperf-go", "run", ""},
	} {
		words := strings.Fields(c.line)
		if strings.HasSuffix(c.line, " ") {
			words = append(words, "")
		}
		got := candidates(app, c.shell, words)
		for _, want := range strings.Fields(c.has) {
			require.Contains(t, got, want, c.line)
		}
		for _, other := range strings.Fields(c.lacks) {
			require.NotContains(t, got, other, c.line)
		}
	}
}

// Every flag whose name or help mentions a file, a folder or a choice can be completed.
func TestFlagsOfPathsAndChoicesComplete(t *testing.T) {
	app := newTestProgram().app()
	each(app.Commands, "", func(name string, c *cli.Command) {
		for _, f := range c.Flags {
			word := f.Names()[0]
			if !takesValue(f) || !isVisible(f) {
				continue
			}
			kind := kindOf(name, f)
			for _, ending := range []string{"-file", "-dir", "-config", "-conf"} {
				if strings.HasSuffix(word, ending) {
					require.NotEqual(t, noPath, kind.path, "%s --%s", name, word)
				}
			}
			if strings.Contains(usageLine(f), ", ") && strings.Contains(usageLine(f), " or ") && kind.placeholder == "NAME" {
				require.NotEmpty(t, kind.candidates(), "%s --%s", name, word)
			}
		}
	})
}

// shells are the shells with a completion script, and how each loads it.
var shells = []struct {
	name  string
	start []string
	setup string
}{
	{"bash", []string{"bash", "--noprofile", "--norc", "-i"},
		"bind 'set bell-style none' 2>/dev/null; source <(mlperf-go completion bash)"},
	{"zsh", []string{"zsh", "-f", "-i"},
		"unsetopt beep; autoload -Uz compinit; compinit -u -D; source <(mlperf-go completion zsh)"},
	{"fish", []string{"fish", "--no-config", "--interactive"}, "mlperf-go completion fish | source"},
}

// typedLines are typed texts, and their completions by Tab.
var typedLines = []struct{ typed, shown string }{
	{"mlperf-go subm", "mlperf-go submission "},
	{"mlperf-go run --target-q", "--target-qps "},
	{"mlperf-go run --model llama3.1-40", "llama3.1-405b "},
	{"mlperf-go run --model=llama3.1-40", "llama3.1-405b "},
	{"mlperf-go run --scenario Inter", "Interactive "},
	{"mlperf-go run --api comp", "completions "},
	{"mlperf-go run --backend llam", "llamacpp "},
	{"mlperf-go run --dataset prom", "prompts-of-mine.json "},
	{"mlperf-go run --output-dir res", "results-of-mine/"},
	{"mlperf-go dataset check prom", "prompts-of-mine.json "},
	{"mlperf-go run --dataset=prom", "prompts-of-mine.json "},
	{"mlperf-go run --output-dir=res", "results-of-mine/"},
	{"mlperf-go report res", "results-of-mine/"},
	{"mlperf-go submission che", "check "},
	{"mlperf-go sim --fault cut_m", "cut_mid="},
}

// In every installed shell, a typed line is completed by Tab.
func TestShellsComplete(t *testing.T) {
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell.name); err != nil {
				t.Skipf("%s is not installed (apt install %[1]s)", shell.name)
			}
			home := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(home, "prompts-of-mine.json"), nil, 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(home, "results-of-mine"), 0o700))
			w := inTerminal(t, 200, []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "TERM=vt100", "PS1=ready> ",
				"ENV=", "ZDOTDIR=" + home}, shell.start...)
			w.write("cd " + home + " && " + shell.setup + " && echo load''ed\n")
			w.until(0, "loaded\n")
			for _, line := range typedLines {
				before := len(w.shown())
				w.write(line.typed + "\t")
				w.until(before, line.shown)
				w.write("\x15\n") // Ctrl-U clears the line
			}
		})
	}
}
