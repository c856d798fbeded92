package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProfileDifferences(t *testing.T) {
	folder := func(text string) string {
		f := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(f, ProfileName), []byte(text), 0o600))
		return f
	}
	base := folder("name: a\nseed: 1\napi: {kind: chat, endpoint: http://a}\nload:\n  stages:\n    - {rate: 20}\n")
	for _, c := range []struct {
		text string
		want []string
	}{
		{"name: b\nseed: 1\napi: {kind: chat, model: m}\nslo: {ttft: 1s}\nload:\n  stages:\n    - rate: 20\n", nil},
		{"seed: 1\napi: {kind: chat}\nload: {stages: [{rate: 30}]}\n", []string{"load.stages.0.rate 20 and 30"}},
		{"seed: 1\napi: {kind: chat}\nload: {stages: [{rate: 20}, {rate: 20}]}\n",
			[]string{"load.stages.1.rate absent and 20"}},
		{"seed: 2\na: 1\nb: 1\nc: 1\nd: 1\n", []string{"a absent and 1", "api.kind chat and absent", "b absent and 1",
			"c absent and 1", "d absent and 1", "and more"}},
	} {
		got, err := ProfileDifferences(base, folder(c.text))
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.text)
	}
	_, err := ProfileDifferences(base, t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = ProfileDifferences(base, folder("a: ]"))
	require.ErrorContains(t, err, "profile.yaml: yaml: ")
}
