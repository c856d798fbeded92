package arch

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/mlperf-go/mlperf-go"

// root is the path of the module's folder relative to this package's folder.
const root = "../.."

// listed is one package of the module. Dir is its folder relative to the module's folder, "" for the module's own.
type listed struct {
	*build.Package
	Dir string
}

// ours returns the folders of the module's packages that p imports.
func (p *listed) ours() []string {
	var folders []string
	for _, i := range p.Imports {
		if folder, ok := strings.CutPrefix(i, module+"/"); ok {
			folders = append(folders, folder)
		}
	}
	return folders
}

// list reads every folder of the module as the go command does for "./...", without building anything.
var list = sync.OnceValues(func() ([]*listed, error) {
	var packages []*listed
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		dir, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if dir != "." && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata" ||
			isModule(path)) {
			return filepath.SkipDir
		}
		p, err := build.ImportDir(path, 0)
		if none := (*build.NoGoError)(nil); errors.As(err, &none) {
			return nil
		}
		if err != nil {
			return err
		}
		packages = append(packages, &listed{p, strings.TrimPrefix(filepath.ToSlash(dir), ".")})
		return nil
	})
	return packages, err
})

// isModule reports whether a folder is the root of another module.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func packages(t *testing.T) []*listed {
	t.Helper()
	all, err := list()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// source is one Go file that is not a test.
type source struct {
	name string // path relative to the module's folder
	pkg  string // folder of its package
	file *ast.File
	fset *token.FileSet
}

// sources returns the syntax of every Go file except tests, regardless of build tags.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	require.NoError(t, err)
	return all
}

var parsed = sync.OnceValues(func() ([]source, error) {
	packages, err := list()
	if err != nil {
		return nil, err
	}
	var all []source
	for _, p := range packages {
		names, err := filepath.Glob(filepath.Join(root, p.Dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			all = append(all, source{name: filepath.ToSlash(filepath.Join(p.Dir, filepath.Base(name))), pkg: p.Dir, file: file,
				fset: fset})
		}
	}
	return all, nil
})

// at returns the position of a node for messages.
func (s source) at(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	return s.name + ":" + strconv.Itoa(p.Line)
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(b)
}

// below reports whether folder is one of rooms or inside one of them.
func below(folder string, rooms ...string) bool {
	return slices.ContainsFunc(rooms, func(r string) bool { return folder == r || strings.HasPrefix(folder, r+"/") })
}
