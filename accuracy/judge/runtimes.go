package judge

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
)

// language is how the programs of one language are run, as data.
type language struct {
	command string // what is looked for in PATH
	// arguments with which it tells its own file and, on a second line, its folder; nil: the file in PATH is it
	ask   []string
	also  string   // another language's command that it needs
	view  []string // what it needs to see beside its own folder
	file  string   // name of the program
	args  []string // how it is run; {self}, {also} stand for the commands
	shell bool     // args is one line for a shell: it compiles first
	join  func(code, tests, entry string) string
	proof proof
	hello string // a program that does something
	heavy bool   // reserves more addresses than it uses
	env   []string
}

// libraries are what nearly every program of a Linux machine needs.
var libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/libexec", "/etc/ld.so.cache",
	"/etc/alternatives"}

// nodeModules are where distributions and npm put modules for all programs.
var nodeModules = []string{"/usr/share/nodejs", "/usr/share/javascript", "/usr/lib/node_modules",
	"/usr/local/lib/node_modules"}

// tools are what a compiler calls.
var tools = []string{"/bin", "/usr/bin", "/usr/include", "/usr/local/include"}

// languages are those of MBXP that the reference runs, by its names (docs/reference/scoring-rules.md#mixture). Commands
// as of mxeval's executor.
var languages = map[string]*language{
	"python": {
		command: "python3", ask: []string{"-I", "-c",
			"import sys; print(sys.executable); print(sys.base_prefix); print(sys.prefix)"}, file: "program.py",
		args: []string{"-B", "main.py"},
		join: joinPython, proof: proof{"proof.py", "main.py", ""}, hello: "print('hello')",
		env: []string{"PYTHONHASHSEED=0", "PYTHONUTF8=1"},
	},
	"javascript": {command: "node", ask: []string{"-p", "process.execPath"}, view: nodeModules, file: "main.js",
		args: []string{"proof.js"}, join: joined, proof: proof{"proof.js", "proof.js", "\n;globalThis.DONE = true;\n"},
		hello: "console.log('hello')", heavy: true},
	"typescript": {
		command: "tsc", also: "node", view: append(slices.Clone(nodeModules), tools...), file: "main.ts", shell: true,
		join: joined, proof: proof{"proof.js", "proof.js", "\n;(globalThis as any).DONE = true;\n"},
		hello: "console.log('hello')", heavy: true,
		// The compiler ends with 2 where it wrote the program in spite of type errors, which the tests' own calls of require
		// make.
		args: []string{"{also} {self} main.ts --target es5 --lib es2016 </dev/null >&2; [ $? = 0 -o $? = 2 ] || exit 1; " +
			"exec timeout 20 {also} proof.js"},
	},
	"cpp": {
		command: "g++", view: tools, file: "main.cpp", shell: true, join: joinCpp, proof: proof{"proof.cpp", "proof.cpp", ""},
		hello: "#include <cstdio>\nint main() { puts(\"hello\"); }",
		args:  []string{"{self} proof.cpp main.cpp -Wl,--wrap=main -o main_cpp </dev/null && exec timeout 20 ./main_cpp"},
	},
	"ruby": {command: "ruby", ask: []string{"-e", "puts RbConfig.ruby, RbConfig::CONFIG['prefix']"},
		view: []string{"/usr/share/ruby", "/usr/share/rubygems-integration"}, file: "main.rb", args: []string{"proof.rb"},
		join: joined, proof: proof{"proof.rb", "proof.rb", "\n$DONE = true\n"}, hello: "puts 'hello'"},
	"php": {command: "php", ask: []string{"-r", "echo PHP_BINARY;"}, view: []string{"/usr/share/php", "/etc/php"},
		file: "main.php", args: []string{"proof.php"}, join: joined,
		proof: proof{"proof.php", "proof.php", "\n;$GLOBALS['DONE'] = true;\n"},
		hello: "<?php echo \"hello\\n\";"},
}

// joined puts a program and its tests into one text, as the reference does.
func joined(code, tests, _ string) string { return code + tests }

// joinCpp also gives the tests an assert that the program has not switched off.
func joinCpp(code, tests, _ string) string {
	return code + "\n#undef NDEBUG\n#undef assert\n#include <cassert>\n" + tests
}

// joinPython also calls the function check, which the tests of the real set define and do not call.
func joinPython(code, tests, entry string) string {
	program := code + "\n" + tests
	if strings.Contains(tests, "def check(") {
		program += "\ncheck(" + entry + ")"
	}
	return program
}

// runtime is a language as it is on this machine.
type runtime struct {
	*language
	self    string   // the language's command
	path    string   // what is run: the command, or a shell that compiles first
	args    []string // with the commands in their places
	view    []string
	env     []string
	missing string // why programs can not be run; empty: they can
}

func (r *runtime) describe() string {
	if r.missing != "" {
		return r.missing
	}
	return r.self
}

// findRuntimes looks the languages up and tries each on one small program.
func findRuntimes(ctx context.Context, o Options) map[string]*runtime {
	found := map[string]*runtime{}
	for name, l := range languages {
		if o.PythonOnly && name != "python" {
			continue
		}
		r := &runtime{language: l}
		if r.missing = r.locate(ctx, o.Environ); r.missing == "" {
			r.missing = r.try(ctx)
		}
		found[name] = r
	}
	return found
}

// trial is enough for a compiler on a machine that is busy.
const trial = 2 * time.Minute

// try runs the language's hello.
func (r *runtime) try(ctx context.Context) string {
	a, err := r.attempt(ctx, r.hello, "", "", r.limits(trial))
	switch {
	case err != nil:
		return r.command + " can not be run in the sandbox: " + err.Error()
	case !a.proven:
		text := strings.Join(strings.Fields(string(a.Stderr)), " ")
		return r.command + " does not run in the sandbox: " + foreign.Line(text, 200)
	}
	return ""
}

// program is a program of the language with these files.
func (r *runtime) program(files map[string][]byte) sandbox.Program {
	return sandbox.Program{Path: r.path, Args: r.args, Env: r.env, Files: files, View: r.view}
}

// The reference gives programs 4 GB.
const memory = 4 << 30

// limits are those of one program; a compiler has time of its own before it.
func (r *runtime) limits(wall time.Duration) sandbox.Limits {
	const compileSeconds = 100 // as the reference's executor
	l := sandbox.DefaultLimits()
	if r.shell {
		wall += compileSeconds * time.Second
	}
	l.Wall, l.CPU, l.Memory, l.AddressSpace, l.Space = wall, wall, memory, memory, 256<<20
	if r.heavy {
		l.AddressSpace = sandbox.Unlimited
	}
	return l
}

// locate fills in where the language's commands lie; the text says what is missing.
func (r *runtime) locate(ctx context.Context, environ []string) string {
	self, folders := which(ctx, environ, r.command, r.ask)
	if self == "" {
		return r.command + " is not installed"
	}
	r.view = append(append(slices.Clone(libraries), r.language.view...), own(self, folders, environ)...)
	also := ""
	if r.also != "" {
		var alsoFolders []string
		if also, alsoFolders = which(ctx, environ, r.also, languages["javascript"].ask); also == "" {
			return r.also + ", which " + r.command + " needs, is not installed"
		}
		r.view = append(r.view, own(also, alsoFolders, environ)...)
	}
	r.self, r.path, r.args = self, self, r.language.args
	if r.shell {
		line := strings.NewReplacer("{self}", quoted(self), "{also}", quoted(also)).Replace(r.language.args[0])
		r.path, r.args = "/bin/sh", []string{"-c", line}
	}
	modules := append(slices.Clone(nodeModules), filepath.SplitList(value(environ, "NODE_PATH"))...)
	r.view = append(r.view, slices.DeleteFunc(filepath.SplitList(value(environ, "NODE_PATH")),
		func(p string) bool { return !filepath.IsAbs(p) || p == "/" })...)
	r.env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + sandbox.Home, "LANG=C.UTF-8",
		"NODE_PATH=" + strings.Join(modules, ":")}, r.language.env...)
	return ""
}

func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

func value(environ []string, name string) string {
	for _, pair := range environ {
		if text, ok := strings.CutPrefix(pair, name+"="); ok {
			return text
		}
	}
	return ""
}

// which finds a command in PATH and, where it is a shim, asks it for its own file; further lines are folders that it
// needs.
func which(ctx context.Context, environ []string, command string, ask []string) (self string, folders []string) {
	folders = filepath.SplitList(value(environ, "PATH"))
	if strings.Contains(command, "/") { // as a shell does it
		here, err := os.Getwd()
		if err != nil {
			return "", nil
		}
		folders = []string{here}
		if filepath.IsAbs(command) {
			folders = []string{"/"}
		}
	}
	for _, folder := range folders {
		path := filepath.Join(folder, command)
		if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 || !filepath.IsAbs(path) {
			continue
		}
		if ask == nil {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				return "", nil
			}
			return real, nil
		}
		ctx, cancel := context.WithTimeout(ctx, trial)
		defer cancel()
		asked := exec.CommandContext(ctx, path, ask...)
		asked.Env = environ
		out, err := asked.Output()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil || !filepath.IsAbs(lines[0]) {
			return "", nil
		}
		return lines[0], lines[1:]
	}
	return "", nil
}

// own is what a command needs of its own: its file, and the folder that it was installed into where that is no folder
// of the system's or the user's.
func own(self string, folders, environ []string) []string {
	view := []string{self}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		view = append(view, real)
		folders = append(folders, filepath.Dir(filepath.Dir(real)))
	}
	home := value(environ, "HOME")
	for _, f := range folders {
		f = filepath.Clean(f)
		shared := slices.Contains([]string{"/", "/usr", "/usr/local", "/opt", "/root", "/home", "/tmp", "/var", "/srv", "."},
			f)
		if !shared && (home == "" || f != filepath.Clean(home) && !strings.HasPrefix(filepath.Clean(home), f+"/")) {
			view = append(view, f)
		} else if f == "/usr/local" {
			view = append(view, "/usr/local/lib")
		}
	}
	return view
}

var noModule = regexp.MustCompile(`Cannot find module '([^']+)'`)

// lacks names the module that tests ask for and that is not there: the program is not to blame.
func (r *runtime) lacks(stderr []byte, tests string) string {
	m := noModule.FindSubmatch(stderr)
	if m == nil {
		return ""
	}
	if name := string(m[1]); strings.Contains(tests, `require("`+name+`")`) ||
		strings.Contains(tests, `require('`+name+`')`) {
		return name
	}
	return ""
}
