package run

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Nothing that a program can reach from the API of run has an internal type: fields, parameters and results.
func TestTheAPIHasNoInternalType(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, v := range []any{New, Run, PreflightOnly, ReadRecord, Classify, Settings{}, Interrupt{}, (*Observer)(nil),
		(*Error)(nil), (*Record)(nil), (*Preflight)(nil), Progress{}} {
		walk(t, reflect.TypeOf(v), "run", seen)
	}
	require.True(t, seen[reflect.TypeFor[Record]()])
}

func walk(t *testing.T, of reflect.Type, path string, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[of] {
		return
	}
	seen[of] = true
	path += " > " + of.String()
	require.NotContains(t, of.PkgPath()+"/", "/internal/", path)
	if own := of.PkgPath(); own != "" && !strings.HasPrefix(own, "github.com/mlperf-go/") {
		return
	}
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Chan:
		walk(t, of.Elem(), path, seen)
	case reflect.Struct:
		for f := range of.Fields() {
			if unicode.IsUpper(rune(f.Name[0])) {
				walk(t, f.Type, path, seen)
			}
		}
	case reflect.Func:
		for in := range of.Ins() {
			walk(t, in, path, seen)
		}
		for out := range of.Outs() {
			walk(t, out, path, seen)
		}
	}
	for m := range of.Methods() {
		walk(t, m.Type, path, seen)
	}
}
