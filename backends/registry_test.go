package backends_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/openai"
)

func TestRegistry(t *testing.T) {
	require.Equal(t, []string{"lines", "llamacpp", "ollama", "openai", "sglang", "sim", "trtllm", "vllm"},
		backends.Names(), "lines is the example's")
	for _, name := range []string{"openai", "sim", "trtllm", "vllm"} {
		d, err := backends.Lookup(name)
		require.NoError(t, err)
		require.IsType(t, &openai.Driver{}, d)
	}
	_, err := backends.Lookup("vlm")
	require.EqualError(t, err, `backend "vlm" is not one of lines, llamacpp, ollama, openai, sglang, sim, trtllm, vllm; did you mean vllm?`)
	require.PanicsWithValue(t, `backends: the name "vllm" is registered twice`,
		func() { backends.Register("vllm", &openai.Driver{}) })
	require.Panics(t, func() { backends.Register("", &openai.Driver{}) })
	require.Panics(t, func() { backends.Register("none", nil) })
}
