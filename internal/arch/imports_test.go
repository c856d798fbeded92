package arch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// importers maps packages with restricted use to the packages that may import them. internal/golden, internal/race and
// the C++ worker are for tests, whose imports are not checked.
var importers = map[string][]string{
	"sim":                         {"cmd", "run/rehearse", "run/runtest"},
	"schema":                      {"cmd", "submission"},
	"internal/sandbox":            {"accuracy", "cmd", "run"},
	"internal/faulttest":          {},
	"internal/golden":             {"backends/internal/wirecase"}, // this importer is for tests too
	"internal/race":               {},
	"backends/internal/wiretest":  {},
	"backends/internal/wirecase":  {},
	"internal/arch":               {"scripts"},
	"run/runtest":                 {}, // for tests, like schema/schematest
	"schema/schematest":           {},
	"submission/treetest":         {},
	"objectstore/storetest":       {},
	"cmd":                         {},
	"scripts":                     {},
	"loadgen-cgo/internal/cppsut": {},
}

// place returns the layer of a folder and the entry of Layers or Apart to which it belongs. ok is false if no entry
// contains it.
func place(folder string) (layer int, room string, ok bool) {
	for i, rooms := range Layers {
		for _, r := range rooms {
			if below(folder, r) {
				return i, r, true
			}
		}
	}
	return 0, "", false
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		from, room, inHouse := place(p.Dir)
		allowed, standsApart := "", false
		for r := range Apart {
			if below(p.Dir, r) {
				allowed, standsApart = r, true
			}
		}
		require.True(t, inHouse != standsApart, "package %s has no place (or two) in the table of layers", p.Dir)
		for _, to := range p.ours() {
			if standsApart {
				require.True(t, below(to, append(Apart[allowed], allowed)...), "%s imports %s; it may import only %v", p.Dir, to,
					Apart[allowed])
				continue
			}
			if below(to, room) {
				continue
			}
			layer, _, ok := place(to)
			if !ok { // packages outside the layers have their own list of importers
				continue
			}
			require.Greater(t, layer, from, "%s imports %s, which is no layer below it", p.Dir, to)
		}
	}
}

func TestRoomsWithFewImporters(t *testing.T) {
	for _, p := range packages(t) {
		for _, to := range p.ours() {
			for room, allowed := range importers {
				if below(to, room) && !below(p.Dir, room) {
					require.True(t, below(p.Dir, allowed...), "%s imports %s; only %v may", p.Dir, to, allowed)
				}
			}
		}
	}
}

func TestTheBridgeImportsNothingOfTheProject(t *testing.T) {
	for _, p := range packages(t) {
		if p.Dir == "loadgen-cgo" {
			require.Empty(t, p.ours())
			return
		}
	}
	t.Fatal("there is no package loadgen-cgo")
}
