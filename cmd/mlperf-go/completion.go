package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run"
)

// completionCommand prints completion scripts.
type completionCommand struct{ *program }

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

func (cmd completionCommand) command() *cli.Command {
	shells := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	return &cli.Command{
		Name: "completion", Usage: "print a completion script", ArgsUsage: "bash|zsh|fish", HideHelpCommand: true,
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			script, ok := shells[c.Args().First()]
			if !ok || c.NArg() != 1 {
				return run.UsageError("argument", "Use bash, zsh or fish",
					"no completion script for the shell %q", c.Args().First())
			}
			_, err := fmt.Fprint(cmd.stdout, script)
			return err
		},
	}
}
