package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheBillNamesTheLibrariesOfCPP(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	t.Chdir("../..")
	modules := filepath.Join(t.TempDir(), "modules.json")
	write := func(text string) (string, error) {
		require.NoError(t, os.WriteFile(modules, []byte(text), 0o644))
		var b strings.Builder
		err := writeSBOM("v1.2.3", modules, "12.2.0", &b)
		return b.String(), err
	}
	got, err := write(`{"specVersion":"1.5","metadata":{"timestamp":"2026-01-01","component":{"bom-ref":"m"}},
		"components":[{"name":"yaml"}],"dependencies":[{"ref":"m","dependsOn":["yaml"]}]}`)
	require.NoError(t, err)
	var bill struct {
		SpecVersion string
		Metadata    struct {
			Timestamp string
			Component struct{ Version string }
		}
		Components   []struct{ Name, Version, Purl string }
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got), &bill))
	require.Equal(t, "1.5", bill.SpecVersion)
	require.Equal(t, "1970-01-01T00:00:00Z", bill.Metadata.Timestamp)
	require.Equal(t, "v1.2.3", bill.Metadata.Component.Version)
	var names []string
	for _, c := range bill.Components {
		names = append(names, c.Name+" "+c.Version)
	}
	require.Equal(t, []string{"yaml ", "mlcommons-loadgen 6.0.17", "libstdc++ 12.2.0", "libgcc 12.2.0"}, names)
	require.Equal(t, []string{"yaml", "pkg:pypi/mlcommons-loadgen@6.0.17", "pkg:generic/libstdc++@12.2.0",
		"pkg:generic/libgcc@12.2.0"}, bill.Dependencies[0].DependsOn)
	require.Len(t, bill.Dependencies, 4)

	for _, broken := range []string{"", "{}", "[]", `{"components":[{}]}`} {
		_, err := write(broken)
		require.Error(t, err, "%q", broken)
	}
}
