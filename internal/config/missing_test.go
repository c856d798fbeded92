package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMissingValue(t *testing.T) {
	flags := map[string]bool{"dataset": true, "output-dir": true, "l": true, "target-qps": true, "json": false}
	takesValue := func(name string) (known, takes bool) {
		takes, known = flags[name]
		return known, takes
	}
	for _, c := range []struct{ line, want string }{
		{"run --dataset --output-dir x", "--dataset --output-dir"},
		{"run --dataset --json", "--dataset --json"},
		{"run --dataset --outpt-dir x", "--dataset --outpt-dir"},
		{"run --dataset --output-dir=x", "--dataset --output-dir"},
		{"run --dataset -l vllm", "--dataset -l"},
		{"run -l --dataset d", "-l --dataset"},
		{"run --json --dataset --", "--dataset --"},
		{"run --dataset d --output-dir --json", "--output-dir --json"},
		{"run --json --dataset d --output-dir x", ""},
		{"run --dataset=--output-dir --output-dir x", ""},
		{"run --target-qps -1", ""},
		{"run --target-qps -Inf", ""},
		{"run --dataset -", ""},
		{"run --json -- --dataset --output-dir", ""},
		{"run --unknown --dataset d", ""},
		{"run --dataset", ""}, // the flag parser reports it
		{"", ""},
	} {
		err := MissingValue(strings.Fields(c.line), takesValue)
		if c.want == "" {
			require.NoError(t, err, c.line)
			continue
		}
		require.ErrorContains(t, err, strings.Replace(c.want, " ", " requires a value, but ", 1)+" follows it", c.line)
	}
	require.NoError(t, MissingValue([]string{"--dataset", "--max-num-seqs 4"}, takesValue), "arguments of a server")
	err := MissingValue([]string{"--dataset", "--api-key=secret"}, takesValue)
	require.NotContains(t, err.Error(), "secret")
}
