package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

// completionCommand prints completion scripts.
type completionCommand struct{ *program }

// The scripts pass the words of the command line up to the cursor to `mlperf-go __complete`. It prints the candidates,
// or the kind of path that the shell should complete.
const bashCompletion = `_mlperf_go() {
  local IFS=$'\n' current=${COMP_WORDS[COMP_CWORD]} candidates
  candidates=($("${COMP_WORDS[0]/#\~/$HOME}" __complete bash -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null))
  COMPREPLY=()
  case ${candidates[0]-} in
  :files) compopt -o default ;;
  :folders) compopt -o dirnames ;;
  *) COMPREPLY=("${candidates[@]}") ;;
  esac
  case ${candidates[0]-} in *=) compopt -o nospace ;; esac
}
complete -F _mlperf_go mlperf-go
`

const zshCompletion = `#compdef mlperf-go
_mlperf_go() {
  local -a candidates
  candidates=("${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete zsh -- "${(@)words[1,CURRENT]}" 2>/dev/null)}")
  [[ ${words[CURRENT]} == --*=* ]] && compset -P '*='
  case ${candidates[1]} in
  :files) _files ;;
  :folders) _files -/ ;;
  '') ;;
  *=) compadd -S '' -- "${candidates[@]}" ;;
  *) compadd -- "${candidates[@]}" ;;
  esac
}
if [ "$funcstack[1]" = _mlperf_go ]; then _mlperf_go "$@"; else compdef _mlperf_go mlperf-go; fi
`

const fishCompletion = `function __mlperf_go
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l candidates ($words[1] __complete fish -- $words "$current" 2>/dev/null)
  set -l before (string match -r -- '^--[^=]*=' "$current")
  set -l typed (string replace -r -- '^--[^=]*=' '' "$current")
  switch "$candidates[1]"
    case ':files'
      for path in (__fish_complete_path "$typed")
        echo "$before$path"
      end
    case ':folders'
      for path in (__fish_complete_directories "$typed")
        echo "$before$path"
      end
    case '*'
      printf '%s\n' $candidates
  end
end
complete -c mlperf-go -f -a '(__mlperf_go)'
`

var completionScripts = map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}

func (cmd completionCommand) command() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a completion script", ArgsUsage: "bash|zsh|fish",
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return exit.Usage(exit.CodeArgument, "", "no shell given: use bash, zsh or fish")
			}
			script, ok := completionScripts[c.Args().First()]
			if !ok || c.NArg() != 1 {
				return exit.Usage(exit.CodeArgument, "Use bash, zsh or fish",
					"no completion script for the shell %q", c.Args().First())
			}
			_, err := fmt.Fprint(cmd.stdout, script)
			return err
		},
	}
}

// completeCommand is the first argument with which a completion script asks for candidates.
const completeCommand = "__complete"

// complete answers a completion script: __complete SHELL -- WORDS. The last word is the one to complete, and the first
// is the program.
func (p *program) complete(app *cli.App, args []string) error {
	if len(args) < 3 || args[1] != "--" {
		return nil
	}
	for _, candidate := range candidates(app, args[0], args[2:]) {
		if _, err := fmt.Fprintln(p.stdout, candidate); err != nil {
			return err
		}
	}
	return nil
}

// candidates returns the words that may replace the last word, or a path kind.
func candidates(app *cli.App, shell string, words []string) []string {
	if shell == "bash" {
		words = joinEquals(words)
	}
	before, current := words[:max(len(words)-1, 1)], ""
	if len(words) > 1 {
		current = words[len(words)-1]
	}
	if slices.Contains(before, "--") { // arguments of an engine
		return nil
	}
	in := invoked(app.Commands, app.Flags, before)
	if name, value, inline := cutFlag(current); inline && strings.HasPrefix(current, "-") {
		list := beginWith(valuesOf(in, flagNamed(in.known, name)), value)
		if shell == "fish" { // it replaces the whole word
			for i := range list {
				if !strings.HasPrefix(list[i], ":") { // for a path kind, the script adds the flag to the paths
					list[i] = strings.TrimSuffix(current, value) + list[i]
				}
			}
		}
		return list
	}
	if f := openFlag(in, before); f != nil {
		return beginWith(valuesOf(in, f), current)
	}
	if strings.HasPrefix(current, "-") {
		return beginWith(flagWords(in, before), current)
	}
	return beginWith(argumentWords(in, before), current)
}

// joinEquals joins the three words into which bash splits --flag=value.
func joinEquals(words []string) []string {
	var joined []string
	for i := 0; i < len(words); i++ {
		last := len(joined) - 1
		if words[i] == "=" && last > 0 && strings.HasPrefix(joined[last], "--") {
			joined[last] += "="
			if i+1 < len(words) {
				i++
				joined[last] += words[i]
			}
			continue
		}
		joined = append(joined, words[i])
	}
	return joined
}

// openFlag returns the flag whose value comes next; nil: no flag needs a value.
func openFlag(in invocation, before []string) cli.Flag {
	last := before[len(before)-1]
	if name, _, inline := cutFlag(last); len(before) > 1 && strings.HasPrefix(last, "-") && !inline {
		if f := flagNamed(in.known, name); f != nil && takesValue(f) {
			return f
		}
	}
	return nil
}

func valuesOf(in invocation, f cli.Flag) []string {
	if f == nil {
		return nil
	}
	if !takesValue(f) {
		return []string{"true", "false"}
	}
	return kindOf(commandName(in.path), f).candidates()
}

// candidates returns a kind's words, or the kind of path.
func (k valueKind) candidates() []string {
	switch {
	case k.words != nil:
		return k.words()
	case k.path != noPath:
		return []string{string(k.path)}
	}
	return nil
}

// flagWords returns a command's flags, except for those that were given and cannot be repeated.
func flagWords(in invocation, before []string) []string {
	var words []string
	for _, f := range append(slices.Clone(in.known), helpFlags()...) {
		name := dashes(f.Names()[0])
		_, repeatable := f.(*cli.StringSliceFlag)
		given := slices.ContainsFunc(before, func(w string) bool { return w == name || strings.HasPrefix(w, name+"=") })
		if isVisible(f) && (repeatable || !given) {
			words = append(words, name)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// argumentWords returns the subcommands, or the words that a command accepts as arguments.
func argumentWords(in invocation, before []string) []string {
	if len(in.path) > 0 && in.path[0].Name == "help" { // its arguments are commands
		in = invoked(in.commands, nil, slices.Concat(before[:1], before[2:]))
	}
	var words []string
	for _, c := range in.below {
		if !c.Hidden {
			words = append(words, c.Name)
		}
	}
	if len(words) > 0 || len(in.path) == 0 {
		return words
	}
	usage, _, _ := strings.Cut(in.path[len(in.path)-1].ArgsUsage, " ")
	kind, known := argumentKinds[usage]
	if !known && strings.Contains(usage, "|") {
		return strings.Split(usage, "|")
	}
	return kind.candidates()
}

// beginWith returns the words that begin with the typed text. A path kind is passed on.
func beginWith(words []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return !strings.HasPrefix(w, ":") && !strings.HasPrefix(w, typed)
	})
}
