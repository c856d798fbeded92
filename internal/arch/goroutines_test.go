package arch

import (
	"go/ast"
	"testing"

	"github.com/stretchr/testify/require"
)

// catches reports whether a function begins with the deferred call that turns a panic into exit code 70.
func catches(body *ast.BlockStmt) bool {
	if body == nil || len(body.List) == 0 {
		return false
	}
	d, ok := body.List[0].(*ast.DeferStmt)
	if !ok {
		return false
	}
	f, ok := d.Call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := f.X.(*ast.Ident)
	return ok && pkg.Name == "crash" && f.Sel.Name == "Catch"
}

// begun returns the function that a node starts as a goroutine, by a go statement or by the method Go of a group. It
// returns nil if the node starts none.
func begun(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.GoStmt:
		return n.Call.Fun
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" && len(n.Args) == 1 {
			return n.Args[0]
		}
	}
	return nil
}

// nameOf returns the name of a function or method.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// A panic that is not caught ends the program with exit code 2, which means wrong usage, and a campaign would interpret
// it so.
func TestEveryGoroutineCatchesItsPanic(t *testing.T) {
	named := map[string]bool{} // whether a function catches panics, by package and name
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && catches(f.Body) {
				named[s.pkg+" "+f.Name.Name] = true
			}
		}
	}
	goroutines := 0
	for _, s := range sources(t) {
		if below(s.pkg, append(forTests, "scripts")...) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch f := begun(n).(type) {
			case nil:
			case *ast.FuncLit:
				goroutines++
				require.True(t, catches(f.Body), "%s starts a goroutine that does not begin with defer crash.Catch()", s.at(n))
			default:
				goroutines++
				require.True(t, named[s.pkg+" "+nameOf(f)],
					"%s starts %s as a goroutine, which does not begin with defer crash.Catch()", s.at(n), nameOf(f))
			}
			return true
		})
	}
	require.Greater(t, goroutines, 20)
}
