package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

func TestUnderscoresInNamesOfFlags(t *testing.T) {
	require.Equal(t, []string{"mlperf-go", "run", "--num-replicas", "2_0", "--model-name=a_b", "x_y", "-a_b", "--",
		"--tensor_parallel_size"},
		dashed([]string{"mlperf-go", "run", "--num_replicas", "2_0", "--model_name=a_b", "x_y", "-a_b", "--",
			"--tensor_parallel_size"}))
}

func TestFlagsMayFollowArguments(t *testing.T) {
	app := newTestProgram().app()
	for _, c := range []struct{ typed, parsed string }{
		{"mlperf-go models llama --json", "mlperf-go models --json llama"},
		{"mlperf-go --log-level debug dataset info FILE --model m --json",
			"mlperf-go --log-level debug dataset info --model m --json FILE"},
		{"mlperf-go dataset check FILE --most=3", "mlperf-go dataset check --most=3 FILE"},
		{"mlperf-go dataset check FILE --most", "mlperf-go dataset check --most FILE"},
		{"mlperf-go models -- --json", "mlperf-go models -- --json"},
		{"mlperf-go server plan --server-config F -- --x 1 --json y",
			"mlperf-go server plan --server-config F -- --x 1 --json y"},
		{"mlperf-go nop - --output x --json", "mlperf-go nop --output x --json -"},
		{"mlperf-go run --model m --json", "mlperf-go run --model m --json"},
		{"mlperf-go run models --json", "mlperf-go run models --json"},
		{"mlperf-go", "mlperf-go"},
		{"mlperf-go models", "mlperf-go models"},
		{"mlperf-go unknown x --json", "mlperf-go unknown x --json"},
	} {
		require.Equal(t, c.parsed, strings.Join(flagsFirst(app.Commands, app.Flags, strings.Fields(c.typed)), " "), c.typed)
	}
}

func TestAgain(t *testing.T) {
	for line, want := range map[string]string{
		"run --model m":                           "run --model m --output-dir results/a --resume",
		"run --force --output-dir x --resume":     "run --output-dir x --resume",
		"run --output-dir=x -- --port 80":         "run --output-dir=x --resume -- --port 80",
		"run --model m -- --output-dir x":         "run --model m --output-dir results/a --resume -- --output-dir x",
		"run --resume=true --model m":             "run --model m --output-dir results/a --resume",
		"run --model-path x -- --force --port 80": "run --model-path x --output-dir results/a --resume -- --force --port 80",
	} {
		require.Equal(t, want, strings.Join(again(strings.Fields(line), "results/a"), " "))
	}
}

// withoutFlagActions hides the flags while the parser would look for actions.
func TestFlagsHaveNoActions(t *testing.T) {
	number := 0
	var check func(list []*cli.Command)
	check = func(list []*cli.Command) {
		for _, c := range list {
			for _, f := range c.Flags {
				action := reflect.ValueOf(f).Elem().FieldByName("Action")
				require.True(t, !action.IsValid() || action.IsNil(), "%s --%s", c.Name, f.Names()[0])
				number++
			}
			check(c.Subcommands)
		}
	}
	check(newTestProgram().app().Commands)
	require.Greater(t, number, 500)
}
