package profile

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config/strict"
)

var update = flag.Bool("update", false, "write the keys of docs/reference/profiles.md and the JSON Schema anew")

const (
	page       = "../../docs/reference/profiles.md"
	schemaFile = "../../schema/profile.schema.json"
	keysHead   = "## Keys\n"
)

// keys returns the page's tables: one for each struct of a profile.
func keys() string {
	var b strings.Builder
	b.WriteString(keysHead + "\nThe tables are generated from the source. A list's items have `[]` in their path.\n")
	for _, s := range strict.Structs(reflect.TypeFor[Profile]()) {
		where := "the file"
		if s.Path != "" {
			where = "`" + s.Path + "`"
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s", s.Type.Name(), where, strict.Table(s.Type))
	}
	return b.String()
}

func TestThePageListsEveryKey(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, _, found := strings.Cut(string(text), keysHead)
	require.True(t, found, "the page lacks the chapter of the keys")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+keys()), 0o644))
		return
	}
	require.Equal(t, before+keys(), string(text), "go test ./workload/profile -run TestThePage -update writes it anew")
}

func TestTheSchemaMatchesTheTypes(t *testing.T) {
	schema := strict.Schema(reflect.TypeFor[Profile](), "Workload profile", "A workload of `mlperf-go bench`.")
	want, err := json.MarshalIndent(schema, "", "  ")
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(schemaFile, append(want, '\n'), 0o644))
	}
	got, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	require.Equal(t, string(want)+"\n", string(got),
		"go test ./workload/profile -run TestTheSchema -update writes it anew")
}
