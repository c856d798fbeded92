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

// language describes how programs of one language are run.
type language struct {
	command string // name in PATH
	// arguments with which the command prints its own file and, on a second line, its folder; nil: use the file in PATH
	ask   []string
	also  string   // second command that it needs, such as node for TypeScript
	view  []string // folders that the sandbox must show besides the command's own folder
	file  string   // file name of the program in the sandbox
	args  []string // arguments of the command; {self} and {also} are replaced by the commands
	shell bool     // args is one line for a shell, which compiles first
	join  func(code, tests, entry string) string
	proof proof
	hello string // a minimal program
	heavy bool   // reserves more address space than it uses
	env   []string
}

// libraries are needed by nearly every program on a Linux machine.
var libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/libexec", "/etc/ld.so.cache",
	"/etc/alternatives"}

// nodeModules are the folders in which distributions and npm install shared modules.
var nodeModules = []string{"/usr/share/nodejs", "/usr/share/javascript", "/usr/lib/node_modules",
	"/usr/local/lib/node_modules"}

// tools are used by compilers.
var tools = []string{"/bin", "/usr/bin", "/usr/include", "/usr/local/include"}

// languages are MBXP's languages that the reference runs, by its names (docs/reference/scoring-rules.md#mixture). The
// commands are those of mxeval's executor.
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
		// The compiler exits with 2 if it wrote the program in spite of type errors, which calls of require in the tests
		// cause.
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

// joined concatenates a program and its tests, like the reference.
func joined(code, tests, _ string) string { return code + tests }

// joinCpp also defines assert again, in case the program has disabled it.
func joinCpp(code, tests, _ string) string {
	return code + "\n#undef NDEBUG\n#undef assert\n#include <cassert>\n" + tests
}

// joinPython also calls the function check. The tests of the real set define it but never call it.
func joinPython(code, tests, entry string) string {
	program := code + "\n" + tests
	if strings.Contains(tests, "def check(") {
		program += "\ncheck(" + entry + ")"
	}
	return program
}

// runtime is a language on this machine.
type runtime struct {
	*language
	self    string   // path of the language's command
	path    string   // program to start: the command, or a shell that compiles first
	args    []string // its arguments, with the commands' paths inserted
	view    []string
	env     []string
	missing string // why programs cannot be run; empty if they can
}

func (r *runtime) describe() string {
	if r.missing != "" {
		return r.missing
	}
	return r.self
}

// findRuntimes looks for the languages and tries each with a small program.
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

// trial is the time limit for hello programs: enough for a compiler on a busy machine.
const trial = 2 * time.Minute

// try runs the language's hello program. It returns why that failed, or "".
func (r *runtime) try(ctx context.Context) string {
	a, err := r.attempt(ctx, r.hello, "", "", r.limits(trial))
	switch {
	case err != nil:
		return r.command + " cannot be run in the sandbox: " + err.Error()
	case !a.proven:
		text := strings.Join(strings.Fields(string(a.Stderr)), " ")
		return r.command + " does not run in the sandbox: " + foreign.Line(text, 200)
	}
	return ""
}

// program returns a program of the language with these files.
func (r *runtime) program(files map[string][]byte) sandbox.Program {
	return sandbox.Program{Path: r.path, Args: r.args, Env: r.env, Files: files, View: r.view}
}

// memory is the reference's limit of 4 GB.
const memory = 4 << 30

// limits returns the limits of one program; a compiler has additional time.
func (r *runtime) limits(wall time.Duration) sandbox.Limits {
	const compileSeconds = 100 // limit of the reference's executor
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

// locate fills in the paths of the language's commands, and returns what is missing.
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
			return r.also + " is not installed (" + r.command + " needs it)"
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

// which finds a command in PATH. If ask is given it runs the command, which may be a shim, to print its own file and
// the folders it needs, one per line.
func which(ctx context.Context, environ []string, command string, ask []string) (self string, folders []string) {
	folders = filepath.SplitList(value(environ, "PATH"))
	if strings.Contains(command, "/") { // a path is used as it is, as in a shell
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

// own returns a command's file, and the folder in which it is installed unless that is a folder of the system or the
// user.
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

// lacks returns the missing module that the tests require, which is not the program's fault.
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
