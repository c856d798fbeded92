package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// edit inserts text into a source, in place of source[at:end].
type edit struct {
	at, end int
	text    string
}

// function is a function, or a literal outside functions, that can hold mutants.
type function struct {
	number int
	decl   *ast.FuncDecl // nil for a literal
	node   ast.Node
	typ    *ast.FuncType
	body   *ast.BlockStmt
}

// schema is a package's source with many mutants in it, of which a number in a file chooses one at run time. Each
// mutant is a copy of its whole function, so that it compiles wherever it would compile alone, and the function begins
// with a switch to its copies.
type schema struct {
	functions int
	in        map[int]int // the function of a mutant, by their numbers
	name      string      // of the package
}

// add returns a file's source with its mutants, numbered by their places in all. A mutant outside functions has none.
func (s *schema) add(path, source string, all []mutant) (string, error) {
	f := &finder{source: source, fset: token.NewFileSet()}
	file, err := parser.ParseFile(f.fset, path, source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	s.name = file.Name.Name
	var edits []edit
	var copies strings.Builder
	for _, fn := range functions(file) {
		from, to := f.offset(fn.body.Lbrace)+1, f.offset(fn.body.Rbrace)
		fn.number = s.functions
		args, named := f.arguments(fn)
		var cases strings.Builder
		for number, m := range all {
			if m.path != path || m.start < from || m.end > to || s.in[number] == unplaced {
				continue
			}
			s.in[number] = fn.number
			call, text := f.copy(fn, m, number)
			copies.WriteString(text)
			if fn.typ.Results == nil {
				fmt.Fprintf(&cases, " case %d: %s(%s); return;", number, call, args)
			} else {
				fmt.Fprintf(&cases, " case %d: return %s(%s);", number, call, args)
			}
		}
		if cases.Len() == 0 {
			continue
		}
		s.functions++
		edits = append(append(edits, named...), edit{from, from,
			fmt.Sprintf(" switch mutantIn(%d) {%s };", fn.number, cases.String())})
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.at - a.at })
	text := source
	for _, e := range edits {
		text = text[:e.at] + e.text + text[e.end:]
	}
	return text + copies.String(), nil
}

// unplaced is the function of a mutant that does not compile in a copy.
const unplaced = -1

// functions are the functions of a file with a body, and the literals outside them.
func functions(file *ast.File) (list []*function) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				list = append(list, &function{decl: n, node: n, typ: n.Type, body: n.Body})
			}
			return false
		case *ast.FuncLit:
			list = append(list, &function{node: n, typ: n.Type, body: n.Body})
			return false
		}
		return true
	})
	return list
}

// copy returns a function with a mutant in it: what to call, and the text of its declaration. Errors of the compiler
// name a copy by the file of its line comment.
func (f *finder) copy(fn *function, m mutant, number int) (call, text string) {
	start, end := f.offset(fn.node.Pos()), f.offset(fn.node.End())
	body := f.source[start:m.start] + m.text + f.source[m.end:end]
	if fn.decl == nil {
		at := f.fset.Position(fn.body.Lbrace)
		return fmt.Sprintf("/*line mutant%d.go:1:1*/%s/*line %s:%d:%d*/", number, body, filepath.Base(m.path), at.Line,
			at.Column), ""
	}
	name := fmt.Sprintf("mutant%d_%s", number, fn.decl.Name.Name)
	nameAt := f.offset(fn.decl.Name.Pos()) - start
	text = fmt.Sprintf("\n//line mutant%d.go:1\n%s%s%s\n", number, body[:nameAt], name,
		body[nameAt+len(fn.decl.Name.Name):])
	switch {
	case fn.decl.Recv != nil:
		return f.receiver(fn.decl) + "." + name, text
	case fn.typ.TypeParams != nil:
		var types []string
		for _, p := range fn.typ.TypeParams.List {
			for _, n := range p.Names {
				types = append(types, n.Name)
			}
		}
		return name + "[" + strings.Join(types, ", ") + "]", text
	}
	return name, text
}

const receiverName = "mutantReceiver"

func (f *finder) receiver(d *ast.FuncDecl) string {
	if names := d.Recv.List[0].Names; len(names) > 0 && names[0].Name != "_" {
		return names[0].Name
	}
	return receiverName
}

// arguments returns what a function passes to its copies, and the edits that give each parameter a name.
func (f *finder) arguments(fn *function) (string, []edit) {
	var edits []edit
	var args []string
	take := func(field *ast.Field, name string) {
		if len(field.Names) == 0 {
			at := f.offset(field.Type.Pos())
			edits = append(edits, edit{at, at, name + " "})
			args = append(args, name)
		}
		for i, n := range field.Names {
			if n.Name != "_" {
				args = append(args, n.Name)
				continue
			}
			other := fmt.Sprintf("%s_%d", name, i)
			if name == receiverName {
				other = name
			}
			edits = append(edits, edit{f.offset(n.Pos()), f.offset(n.End()), other})
			args = append(args, other)
		}
		if _, ok := field.Type.(*ast.Ellipsis); ok {
			args[len(args)-1] += "..."
		}
	}
	if fn.decl != nil && fn.decl.Recv != nil {
		take(fn.decl.Recv.List[0], receiverName)
		args = nil
	}
	for i, p := range fn.typ.Params.List {
		take(p, fmt.Sprintf("mutantArg%d", i))
	}
	return strings.Join(args, ", "), edits
}

// chooser is a file of the package: it reads which mutant is chosen, and notes which functions a test reaches when the
// choice is to note. A file is read rather than the environment, which a test may not pass on to its processes. Notes
// are bytes of a file that a process maps when it starts, so that it can still note functions after it has given up its
// file system, file descriptors and system calls, as the child of a sandbox does.
func (s *schema) chooser(chosen, reached string) string {
	return fmt.Sprintf(`package %s

import (
	"os"
	"strconv"
	"syscall"
)

var mutantChosen = func() int {
	text, err := os.ReadFile(%q)
	if n, wrong := strconv.Atoi(string(text)); err == nil && wrong == nil {
		return n
	}
	return -1
}()

var mutantReached = func() []byte {
	if mutantChosen != %d {
		return nil
	}
	f, err := os.OpenFile(%q, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	notes, err := syscall.Mmap(int(f.Fd()), 0, %d, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return notes
}()

func mutantIn(function int) int {
	if mutantReached != nil {
		mutantReached[function] = 1
	}
	return mutantChosen
}
`, s.name, chosen, note, reached, s.functions)
}

// note is a choice that is no mutant: the original, and the functions that are reached are noted.
const note = -2
