package arch

import (
	"bytes"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// supported lists the packages that other modules may import (docs/reference/api.md). Programs in testdata/outsider use
// them, and testdata/api.txt contains their exported names.
var supported = []string{
	"accuracy", "backends", "datasets", "loadgen-cgo", "run", "submission/check", "sut", "tokenizer",
}

// shared lists packages whose types appear in supported signatures. These types are documented and may be used by name;
// the rest of the packages is unsupported.
var shared = []string{
	"ledger", "metrics/hostinfo", "models", "run/exit", "run/record", "servers", "tokenizer/finder",
}

// forThisModule lists exported names of package run that serve other packages of this module and are unsupported.
var forThisModule = []string{"CheckFolder", "CheckRoom", "FromPlan", "OpenAssigned", "OpenProbes", "Probe",
	"ProbeClient", "ProbeLoad"}

// isInternal reports whether a name of a supported package is unsupported.
func isInternal(folder, name string) bool {
	return folder == "run" && slices.Contains(forThisModule, name)
}

// typeChecked returns the compiled packages of the module below the given folders, keyed by folder.
var typeChecked = sync.OnceValues(func() (map[string]*types.Package, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./...")
	list.Dir = "../.."
	var failure bytes.Buffer
	list.Stderr = &failure
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export: %w\n%s", err, &failure)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[name] = file
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) {
		return os.Open(files[name])
	})
	all := map[string]*types.Package{}
	for _, folder := range slices.Concat(supported, shared) {
		if files[module+"/"+folder] == "" {
			continue
		}
		if all[folder], err = from.Import(module + "/" + folder); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// exported returns the supported names of a package: objects, exported methods and exported fields.
func exported(p *types.Package) []string {
	var names []string
	add := func(parts ...string) { names = append(names, strings.Join(parts, ".")) }
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() || isInternal(folderOf(p), name) {
			continue
		}
		add(name)
		named, ok := object.Type().(*types.Named)
		if _, isType := object.(*types.TypeName); !isType || !ok {
			continue
		}
		for m := range types.NewMethodSet(types.NewPointer(named)).Methods() {
			if m.Obj().Exported() && m.Obj().Pkg() == p {
				add(name, m.Obj().Name())
			}
		}
		if s, ok := named.Underlying().(*types.Struct); ok && named.Obj().Pkg() == p {
			for f := range s.Fields() {
				if f.Exported() {
					add(name, f.Name())
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// folderOf returns the folder of a package of the module.
func folderOf(p *types.Package) string { return strings.TrimPrefix(p.Path(), module+"/") }

// mentioned calls visit for every named type of the module in the exported part of an object, with the place of the
// mention.
func mentioned(p *types.Package, object types.Object, visit func(where string, t *types.TypeName)) {
	seen := map[types.Type]bool{}
	var walk func(where string, t types.Type)
	own := func(where string, name *types.TypeName) {
		if name.Pkg() != nil && name.Pkg() != p && strings.HasPrefix(name.Pkg().Path(), module) {
			visit(where, name)
		}
	}
	walk = func(where string, t types.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Alias:
			own(where, t.Obj())
			walk(where, types.Unalias(t))
		case *types.Named:
			own(where, t.Obj())
			for a := range t.TypeArgs().Types() {
				walk(where, a)
			}
			if pkg := t.Obj().Pkg(); pkg != p && (pkg == nil || !slices.Contains(shared, folderOf(pkg))) {
				return
			}
			walk(where, t.Underlying())
			for m := range t.Methods() {
				if m.Exported() {
					walk(where+"."+m.Name(), m.Type())
				}
			}
		case *types.Pointer:
			walk(where, t.Elem())
		case *types.Slice:
			walk(where, t.Elem())
		case *types.Array:
			walk(where, t.Elem())
		case *types.Chan:
			walk(where, t.Elem())
		case *types.Map:
			walk(where, t.Key())
			walk(where, t.Elem())
		case *types.Signature:
			for v := range t.Params().Variables() {
				walk(where, v.Type())
			}
			for v := range t.Results().Variables() {
				walk(where, v.Type())
			}
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() {
					walk(where+"."+f.Name(), f.Type())
				}
			}
		case *types.Interface:
			for m := range t.Methods() {
				if m.Exported() {
					walk(where+"."+m.Name(), m.Type())
				}
			}
		}
	}
	walk(object.Name(), object.Type())
}

// A supported signature that names an unsupported type is unusable, or supports that type by accident.
func TestSupportedSignaturesNameSupportedTypes(t *testing.T) {
	packages, err := typeChecked()
	require.NoError(t, err)
	for folder, p := range packages {
		for _, name := range p.Scope().Names() {
			object := p.Scope().Lookup(name)
			if !object.Exported() || slices.Contains(shared, folder) || isInternal(folder, name) {
				continue
			}
			mentioned(p, object, func(where string, typ *types.TypeName) {
				from := folderOf(typ.Pkg())
				if !slices.Contains(supported, from) && !slices.Contains(shared, from) {
					t.Errorf("%s.%s has the unsupported type %s.%s", folder, where, from, typ.Name())
				}
			})
		}
	}
}

// folders returns the folders that a part of a page names, one after the other.
func folders(part string) (list []string) {
	for _, m := range regexp.MustCompile("`([a-z/-]+)`").FindAllStringSubmatch(part, -1) {
		list = append(list, m[1])
	}
	return list
}

// The page of the API names every package of the repository, supported or not, and no other.
func TestThePageNamesEveryPackage(t *testing.T) {
	page := text(t, "docs/reference/api.md")
	_, rest, found := strings.Cut(page, "\nThey are these folders and everything below them")
	require.True(t, found)
	named, _, found := strings.Cut(rest, "\n## ")
	require.True(t, found)
	for _, name := range slices.Concat(supported, shared, forThisModule) {
		require.Contains(t, page, "`"+name+"`")
	}
	tops := map[string]bool{}
	for name := range documents(t, ".go") {
		if !strings.HasSuffix(name, "_test.go") && !strings.Contains("/"+name, "/internal/") &&
			!slices.Contains(supported, path.Dir(name)) {
			top, _, _ := strings.Cut(name, "/")
			tops[top] = true
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(tops)), folders(named))
}

// The package comment of run names every supported function and type, and every name that serves this module.
func TestThePackageCommentOfRunIsComplete(t *testing.T) {
	packages, err := typeChecked()
	require.NoError(t, err)
	comment := text(t, "run/doc.go")
	for _, name := range slices.Concat(exported(packages["run"]), forThisModule) {
		_, isConst := packages["run"].Scope().Lookup(name).(*types.Const)
		if isConst || strings.Contains(name, ".") {
			continue // the comment speaks of exit codes and verdicts together
		}
		require.Regexp(t, `\b`+name+`\b`, comment)
	}
}

var update = flag.Bool("update", false, "write testdata/api.txt anew")

// A new exported name of a supported package is a promise to users. It must therefore be a decision, which also changes
// testdata/api.txt.
func TestExportedNamesAreDecided(t *testing.T) {
	const list = "testdata/api.txt"
	packages, err := typeChecked()
	require.NoError(t, err)
	var now strings.Builder
	for _, folder := range supported {
		require.Contains(t, packages, folder)
		for _, name := range exported(packages[folder]) {
			fmt.Fprintf(&now, "%s %s\n", folder, name)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(list, []byte(now.String()), 0o644))
	}
	decided, err := os.ReadFile(list)
	require.NoError(t, err)
	before, after := strings.Split(string(decided), "\n"), strings.Split(now.String(), "\n")
	for _, line := range after {
		require.Contains(t, before, line, "a new exported name; unexport it, or run: go test ./internal/arch -run Decided "+
			"-update")
	}
	for _, line := range before {
		require.Contains(t, after, line, "an exported name is gone; run: go test ./internal/arch -run Decided -update")
	}
}

// outsiders maps each program of testdata/outsider to its output. example/ is such a program too; package run tests it.
var outsiders = map[string]string{
	"accuracy":  "rouge1 100\n",
	"check":     "false true\n",
	"datasets":  "2 [3 1]\n",
	"sut":       "128 answered\n",
	"tokenizer": "[2 1] ab b\n",
}

// Programs of another module build against the supported packages, and work.
func TestOutsidersBuildAndRun(t *testing.T) {
	if !loadgen.Built {
		t.Skip("LoadGen is not linked in")
	}
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/outsider")))
	mod, err := os.ReadFile(filepath.Join(top, "go.mod"))
	require.NoError(t, err)
	own := strings.Replace(string(mod), "module "+module+"\n", "module example.org/outsider\n", 1) +
		"\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + top + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(own), 0o644))
	sums, err := os.ReadFile(filepath.Join(top, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644))
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin")+"/", "./...")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, want := range outsiders {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(dir, "bin", name))
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, want, string(out))
		})
	}
}
