package bench

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"
)

var update = flag.Bool("update", false, "write schema/bench.schema.json anew")

const schemaFile = "../../schema/bench.schema.json"

// forms are the JSON Schemas of types whose values are limited.
var forms = map[reflect.Type]map[string]any{
	reflect.TypeFor[time.Time]():      {"type": "string", "format": "date-time"},
	reflect.TypeFor[record.Verdict](): {"enum": []record.Verdict{record.Valid, record.Invalid, record.Interrupted}},
}

// schemaOf returns the JSON Schema of a type in encoding/json's form.
func schemaOf(t *testing.T, of reflect.Type) map[string]any {
	if form, ok := forms[of]; ok {
		return form
	}
	switch of.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{schemaOf(t, of.Elem()), map[string]any{"type": "null"}}}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": []string{"array", "null"}, "items": schemaOf(t, of.Elem())}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": schemaOf(t, of.Elem())}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		fieldsOf(t, of, properties, &required)
		slices.Sort(required)
		return map[string]any{"type": "object", "additionalProperties": false, "properties": properties,
			"required": required}
	case reflect.Interface:
		return map[string]any{} // any value
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Uint64, reflect.Uint32:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	}
	require.Fail(t, "no JSON Schema for a type", "%v", of)
	return nil
}

// fieldsOf adds the members of an object. Members of an embedded struct belong to the outer one.
func fieldsOf(t *testing.T, of reflect.Type, properties map[string]any, required *[]string) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fieldsOf(t, f.Type, properties, required)
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = schemaOf(t, f.Type)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}

// TestTheSchemaMatchesTheRecord compares schema/bench.schema.json with the types of bench.json.
func TestTheSchemaMatchesTheRecord(t *testing.T) {
	form := schemaOf(t, reflect.TypeFor[Record]())
	form["$schema"], form["title"] = "https://json-schema.org/draft/2020-12/schema", "Run of a workload (bench.json)"
	form["description"] = "Times whose name ends in _s are seconds, in _us microseconds, in _ns nanoseconds since 1970."
	form["properties"].(map[string]any)["schema"] = map[string]any{"const": Schema}
	want, err := json.MarshalIndent(form, "", "  ")
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(schemaFile, append(want, '\n'), 0o644))
	}
	got, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	require.Equal(t, string(want)+"\n", string(got), "go test ./workload/bench -run TestTheSchema -update writes it anew")
}
