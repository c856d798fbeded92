package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

func (p *program) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "what this program is made of", HideHelpCommand: true, OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			t := record.ThisTool()
			if p.json {
				p.writeJSON(t)
				return nil
			}
			fmt.Fprintf(p.stdout, "mlperf-go %s\nLoadGen %s @ %s\n%s\n", t.Version, t.LoadGen, t.LoadGenRevision, t.Go)
			if t.LoadGen != record.PinnedLoadGen {
				p.log.Warn("this LoadGen is not the pinned " + record.PinnedLoadGen)
			}
			return nil
		},
	}
}

func (p *program) preflightCommand() *cli.Command {
	return &cli.Command{
		Name: "preflight", Usage: "ask endpoints what they are, and start no test", HideHelpCommand: true,
		OnUsageError: usageError,
		Flags:        settingFlags(),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			s, err := p.readSettings(c)
			if err != nil {
				return err
			}
			plan, err := run.NewPlan(s.Effective)
			if err != nil {
				return err
			}
			if s.servers != nil {
				return run.UsageError("endpoint", "Start them with `mlperf-go server up`, and give their --endpoint",
					"preflight starts no servers")
			}
			if !plan.HasEndpoint() {
				return run.UsageError("endpoint", "Write --endpoint http://host:port", "no --endpoint is given")
			}
			p.notice(plan.Notices()...)
			pre, err := run.PreflightOnly(c.Context, plan, p.newProgress(plan))
			if err != nil {
				return err
			}
			if p.json {
				p.writeJSON(pre)
				return nil
			}
			return p.printPreflight(pre)
		},
	}
}

func (p *program) printPreflight(pre *run.Preflight) error {
	w := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
	for _, e := range pre.Endpoints {
		fmt.Fprintf(w, "endpoint\t%s\n  server\t%s %s\n  models\t%s\n  context\t%d tokens\n  health\t%d\n  client\t%s\n",
			e.URL, orUnknown(e.Server), e.Version, foreign.Line(strings.Join(e.Models, ", "), 400), e.MaxModelLen,
			e.HealthStatus, e.Client)
		if e.Generated {
			fmt.Fprintf(w, "  token ids in\t%t\n  token ids out\t%t\n  usage\t%t\n  streams\t%s\n  answer\t%d tokens in %v\n",
				e.TokenIDPrompt, e.ReturnsTokenIDs, e.Usage, streaming(e), e.OutputTokens, e.Latency.Round(10*time.Microsecond))
		}
		for _, n := range e.Notes {
			fmt.Fprintf(w, "  note\t%s\n", n)
		}
	}
	for _, n := range pre.Notes {
		fmt.Fprintf(w, "note\t%s\n", n)
	}
	fmt.Fprintf(w, "open files\t%d of at most %d\n", pre.OpenFiles.Now, pre.OpenFiles.Hard)
	return w.Flush()
}

// streaming tells of the first token. A server that was asked for a stream and gave none has not come this far.
func streaming(e *backends.Probe) string {
	if !e.Streams {
		return "not asked for in this scenario"
	}
	return fmt.Sprintf("true, the first token after %v", e.TTFT.Round(10*time.Microsecond))
}

const bashCompletion = `_mlperf_go() {
  local words="${COMP_WORDS[*]:0:COMP_CWORD}"
  COMPREPLY=($(compgen -W "$(${words} --generate-bash-completion 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _mlperf_go mlperf-go
`

const zshCompletion = `#compdef mlperf-go
_mlperf_go() {
  local -a words_so_far
  words_so_far=("${words[@]:0:$((CURRENT-1))}")
  compadd -- $(${words_so_far} --generate-bash-completion 2>/dev/null)
}
compdef _mlperf_go mlperf-go
`

const fishCompletion = `function __mlperf_go
  set -l words (commandline -opc)
  $words --generate-bash-completion 2>/dev/null
end
complete -c mlperf-go -a '(__mlperf_go)'
`

func (p *program) completionCommand() *cli.Command {
	shells := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	return &cli.Command{
		Name: "completion", Usage: "print a completion script", ArgsUsage: "bash|zsh|fish", HideHelpCommand: true,
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			script, ok := shells[c.Args().First()]
			if !ok || c.NArg() != 1 {
				return run.UsageError("argument", "Write `mlperf-go completion bash`, zsh or fish",
					"completion for %q is not known", c.Args().First())
			}
			_, err := fmt.Fprint(p.stdout, script)
			return err
		},
	}
}
