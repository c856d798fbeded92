package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// mutant is one change of one file: source[start:end] becomes text.
type mutant struct {
	path       string // of the file, below the module's root
	line, col  int
	start, end int
	text       string
	kind       string
}

// The kinds of mutants, as the report names them.
const (
	kindNegate   = "negate condition"
	kindBoundary = "move boundary"
	kindOperand  = "drop operand"
	kindCheck    = "drop error check"
	kindSwallow  = "swallow error"
	kindDrop     = "drop statement"
	kindReturn   = "return early"
	kindMath     = "arithmetic"
	kindConstant = "change constant"
)

// swaps are the operators that one mutant replaces by another, and its kind.
var swaps = map[token.Token][]struct{ by, kind string }{
	token.EQL:     {{"!=", kindNegate}},
	token.NEQ:     {{"==", kindNegate}},
	token.LSS:     {{"<=", kindBoundary}, {">=", kindNegate}},
	token.LEQ:     {{"<", kindBoundary}, {">", kindNegate}},
	token.GTR:     {{">=", kindBoundary}, {"<=", kindNegate}},
	token.GEQ:     {{">", kindBoundary}, {"<", kindNegate}},
	token.ADD:     {{"-", kindMath}},
	token.SUB:     {{"+", kindMath}},
	token.MUL:     {{"/", kindMath}},
	token.QUO:     {{"*", kindMath}},
	token.REM:     {{"*", kindMath}},
	token.SHL:     {{">>", kindMath}},
	token.SHR:     {{"<<", kindMath}},
	token.AND:     {{"|", kindMath}},
	token.OR:      {{"&", kindMath}},
	token.AND_NOT: {{"&", kindMath}},

	token.ADD_ASSIGN: {{"-=", kindMath}},
	token.SUB_ASSIGN: {{"+=", kindMath}},
	token.MUL_ASSIGN: {{"/=", kindMath}},
	token.QUO_ASSIGN: {{"*=", kindMath}},
	token.OR_ASSIGN:  {{"&=", kindMath}},
	token.AND_ASSIGN: {{"|=", kindMath}},
	token.INC:        {{"--", kindMath}},
	token.DEC:        {{"++", kindMath}},
}

// finder collects the mutants of one file.
type finder struct {
	path   string
	source string
	fset   *token.FileSet
	logs   *regexp.Regexp // calls that match are left unchanged
	found  []mutant
	checks map[ast.Expr]bool // conditions that kindCheck mutates
	idle   map[ast.Node]bool // expressions whose values no caller uses
}

// find returns the mutants of a file in the order of their places. Not every one compiles.
func find(path, source string, logs *regexp.Regexp) ([]mutant, error) {
	if strings.HasSuffix(path, ".cc") {
		return findCPP(path, source), nil
	}
	f := &finder{path: path, source: source, fset: token.NewFileSet(), logs: logs, checks: map[ast.Expr]bool{},
		idle: map[ast.Node]bool{}}
	file, err := parser.ParseFile(f.fset, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, f.visit)
	return f.found, nil
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) of(n ast.Node) string { return f.source[f.offset(n.Pos()):f.offset(n.End())] }

// add records a mutant that replaces the source between two places.
func (f *finder) add(kind string, from, to token.Pos, text string) {
	at := f.fset.Position(from)
	f.found = append(f.found, mutant{f.path, at.Line, at.Column, at.Offset, f.offset(to), text, kind})
}

func (f *finder) replace(kind string, n ast.Node, text string) { f.add(kind, n.Pos(), n.End(), text) }

func (f *finder) visit(n ast.Node) bool {
	if f.idle[n] {
		return false
	}
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field:
		return len(n.Names) == 0 || n.Names[0].Name != "_" // padding
	case *ast.CallExpr:
		return f.call(n)
	case *ast.ExprStmt:
		return !f.logs.MatchString(f.of(n))
	case *ast.FuncDecl:
		f.returnEarly(n)
	case *ast.BlockStmt:
		f.drop(n.List)
	case *ast.CaseClause:
		f.drop(n.Body)
	case *ast.CommClause:
		f.drop(n.Body)
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.SwitchStmt:
		f.cases(n)
	case *ast.ReturnStmt:
		f.swallow(n)
	case *ast.BinaryExpr:
		if isLimit(n) {
			return false
		}
		f.binary(n)
	case *ast.UnaryExpr:
		f.unary(n)
	case *ast.AssignStmt:
		f.swap(n.TokPos, n.Tok)
	case *ast.IncDecStmt:
		f.swap(n.TokPos, n.Tok)
	case *ast.BasicLit:
		f.literal(n)
	case *ast.Ident:
		if other, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			f.replace(kindConstant, n, other)
		}
	}
	return true
}

// call reports whether the arguments of a call have mutants. Log calls, and calls that word an error, have none,
// because only people read their text. Nor has the capacity in a make, nor the size in ParseFloat, where every value
// except 32 means 64.
func (f *finder) call(n *ast.CallExpr) bool {
	if f.of(n.Fun) == "strconv.ParseFloat" && len(n.Args) == 2 {
		ast.Inspect(n.Args[0], f.visit)
		return false
	}
	if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "make" && len(n.Args) == 3 {
		ast.Inspect(n.Args[1], f.visit)
		return false
	}
	text := f.of(n)
	return !f.logs.MatchString(text) && !wordings.MatchString(text)
}

// wordings are calls that create an error from a text and its values.
var wordings = regexp.MustCompile(`^(fmt\.Errorf|errors\.New)\(`)

// isLimit reports whether an expression is a literal like 64 << 20: the size of a buffer or a generous limit on foreign
// input. Twice the value would be as good.
func isLimit(e *ast.BinaryExpr) bool {
	_, ok := e.X.(*ast.BasicLit)
	shift, isLiteral := e.Y.(*ast.BasicLit)
	return ok && isLiteral && e.Op == token.SHL && len(shift.Value) > 1
}

func (f *finder) swap(at token.Pos, op token.Token) {
	for _, s := range swaps[op] {
		f.add(s.kind, at, at+token.Pos(len(op.String())), s.by)
	}
}

func (f *finder) binary(n *ast.BinaryExpr) {
	switch {
	case n.Op == token.LAND || n.Op == token.LOR:
		f.replace(kindOperand, n, f.of(n.X))
		f.replace(kindOperand, n, f.of(n.Y))
	case f.checks[n]:
	case n.Op == token.ADD && (isText(n.X) || isText(n.Y)):
	default:
		f.swap(n.OpPos, n.Op)
	}
}

// isText reports whether an expression looks like a string.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return isText(e.X) || isText(e.Y)
	}
	return false
}

func (f *finder) unary(n *ast.UnaryExpr) {
	switch n.Op {
	case token.NOT:
		f.replace(kindNegate, n, f.of(n.X))
	case token.SUB:
		f.replace(kindMath, n, f.of(n.X))
	}
}

// condition mutates the condition of a branch. Comparisons and negations have mutants of their own. The check of an
// error is dropped rather than negated, because a negated one fails everywhere.
func (f *finder) condition(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if isCheck(e) {
			f.checks[e] = true
			f.replace(kindCheck, e, "false && "+f.of(e))
		}
		return
	case *ast.UnaryExpr:
		return
	}
	f.replace(kindNegate, e, "!("+f.of(e)+")")
}

// isCheck reports whether a comparison compares an error or a pointer with nil.
func isCheck(e *ast.BinaryExpr) bool {
	y, ok := e.Y.(*ast.Ident)
	return ok && y.Name == "nil" && e.Op == token.NEQ
}

// cases mutates the conditions of a switch without a tag.
func (f *finder) cases(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	for _, s := range n.Body.List {
		for _, e := range s.(*ast.CaseClause).List {
			f.condition(e)
		}
	}
}

// literal makes a number more than twice as large. It skips numbers with a leading zero, which are file modes.
func (f *finder) literal(n *ast.BasicLit) {
	isMode := len(n.Value) > 1 && n.Value[0] == '0' && strings.Trim(n.Value, "01234567o_") == ""
	if n.Kind == token.INT && !isMode || n.Kind == token.FLOAT {
		f.replace(kindConstant, n, "("+n.Value+"*2 + 1)")
	}
}

// drop removes statements with an effect, one per mutant. It keeps declarations and branches, because the code would
// not compile without them.
func (f *finder) drop(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt:
			if f.logs.MatchString(f.of(s)) {
				continue
			}
		case *ast.BranchStmt:
			if s.Label != nil || s.Tok == token.FALLTHROUGH {
				continue
			}
		case *ast.IfStmt: // "if err := f(); err != nil": the call with its check
			if c, ok := s.Cond.(*ast.BinaryExpr); !ok || s.Init == nil || s.Else != nil || !isCheck(c) {
				continue
			}
		case *ast.DeferStmt: // checked if a file is written; otherwise the collector closes the file
			c, ok := s.Call.Fun.(*ast.SelectorExpr)
			if ok && c.Sel.Name == "Close" && len(s.Call.Args) == 0 || f.logs.MatchString(f.of(s.Call)) {
				continue
			}
		case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
		default:
			continue
		}
		f.replace(kindDrop, s, "")
	}
}

// returnEarly returns zero values before a function does anything.
func (f *finder) returnEarly(n *ast.FuncDecl) {
	if n.Body == nil || len(n.Body.List) == 0 {
		return
	}
	var zeros []string
	if n.Type.Results != nil {
		for _, r := range n.Type.Results.List {
			if len(r.Names) == 0 { // named results are returned by the bare word
				zeros = append(zeros, "*new("+f.of(r.Type)+")")
			}
		}
	}
	at := n.Body.Lbrace + 1
	f.add(kindReturn, at, at, fmt.Sprintf("return %s;", strings.Join(zeros, ", ")))
}

// makers are calls whose result is an error.
var makers = regexp.MustCompile(`^(fmt\.Errorf|errors\.(New|Join))\(|^&\w*\.?Error\{`)

// swallow returns no error where an error is returned.
func (f *finder) swallow(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	last := n.Results[len(n.Results)-1]
	if name, ok := last.(*ast.Ident); ok && name.Name == "err" || makers.MatchString(f.of(last)) {
		f.replace(kindSwallow, last, "nil")
		for _, r := range n.Results[:len(n.Results)-1] {
			f.idle[r] = constant.MatchString(f.of(r)) // a caller that gets an error does not use the other results
		}
	}
}

// constant is a number or a truth value.
var constant = regexp.MustCompile(`^(-?[0-9][\w.]*|true|false)$`)
