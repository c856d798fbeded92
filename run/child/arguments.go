package child

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

// Flags returns the settings that were set, as flags of a child, except those that the caller makes itself. Secrets are
// in Environ.
func Flags(e *config.Effective, except map[string]bool) []string {
	var args []string
	for _, s := range e.Table() {
		if except[s.Name] || s.Secret || s.Ignored || !e.IsSet(s.Name) {
			continue
		}
		args = append(args, "--"+s.Name+"="+e.Text(s.Name))
	}
	return args
}

// Mark is the environment variable that marks a process as a child, whose parent prints the messages for the user.
const Mark = "MLPERF_GO_CHILD"

// Is reports whether the process with this environment is a child of this program.
func Is(environ []string) bool { return slices.Contains(environ, Mark+"=1") }

// Differences returns in one line which settings a folder had before and does not have now, and the reverse. Each of
// the two lists has texts such as --max-tokens=64.
func Differences(before, now []string) string {
	var parts []string
	for _, of := range []struct {
		word       string
		has, lacks []string
	}{{"before", before, now}, {"now", now, before}} {
		var only []string
		for _, text := range of.has {
			if !slices.Contains(of.lacks, text) && !slices.Contains(only, text) {
				only = append(only, text)
			}
		}
		if len(only) > 0 {
			parts = append(parts, of.word+" "+strings.Join(only, " "))
		}
	}
	return strings.Join(parts, ", ")
}

// Environ returns the environment of a child: without the settings, which are flags, with Mark, and with the secrets,
// which must not appear in a list of processes.
func Environ(e *config.Effective, environ []string) []string {
	table := e.Table()
	env := slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.ContainsFunc(table, func(s config.Setting) bool { return s.EnvName() == name })
	})
	env = append(env, Mark+"=1")
	for _, s := range table {
		if s.Secret && e.IsSet(s.Name) {
			env = append(env, s.EnvName()+"="+e.String(s.Name))
		}
	}
	return env
}
