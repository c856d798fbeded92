package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/configs/profiles"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/workload/dialect"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// largest bounds the size of a profile.
const largest = 1 << 20

// File is a profile that was found.
type File struct {
	Harness string // tool whose form or folder it has; empty: recognized by the file's keys
	Name    string // without suffixes
	Path    string // for messages
	Text    []byte
}

// Read translates and checks the profile.
func (f *File) Read(o dialect.Options) (*profile.Profile, error) {
	p, err := dialect.Parse(f.Harness, f.Path, f.Text, o)
	if err == nil && p.Name == "" {
		p.Name = f.Name
	}
	return p, err
}

// All returns the predefined profiles, sorted by harness and name.
func All() []File {
	var all []File
	err := fs.WalkDir(profiles.Files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := profiles.Files.ReadFile(name)
		all = append(all, File{path.Dir(name), bare(path.Base(name)), name, text})
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("the embedded profiles cannot be read: %v", err)) // they are part of the program
	}
	return all
}

// Harnesses returns the names of harnesses that -l accepts.
func Harnesses() []string {
	names := append(dialect.Harnesses(), dialect.Own)
	for _, f := range All() {
		names = append(names, f.Harness)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fold makes "-" and "_" equal.
func fold(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// bare returns a file's name without .yaml, .yml and .in.
func bare(name string) string {
	name = strings.TrimSuffix(name, ".in")
	return strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml")
}

// Find returns the profile of a name: that of HARNESS/NAME below one of the folders, or a predefined one. The suffixes
// .yaml and .yaml.in may be absent, and "-" equals "_". An empty harness means any. A name that contains a slash is the
// path of a file, or HARNESS/NAME where there is no such file.
func Find(harness, name string, folders ...string) (*File, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		from, bareName, isName := cutHarness(harness, name)
		if _, err := os.Stat(name); !isName || !errors.Is(err, fs.ErrNotExist) {
			return Open(harness, name)
		}
		harness, name = from, bareName
	}
	want, from := fold(bare(name)), fold(harness)
	for _, folder := range folders {
		if found, err := inFolder(folder, from, want); found != nil || err != nil {
			return found, err
		}
	}
	var matches []File
	var known, here []string
	for _, f := range All() {
		known = append(known, f.Name)
		if from != "" && fold(f.Harness) != from {
			continue
		}
		here = append(here, f.Name)
		if fold(f.Name) == want {
			matches = append(matches, f)
		}
	}
	switch {
	case len(matches) == 1:
		return &matches[0], nil
	case len(matches) > 1:
		var names []string
		for _, m := range matches {
			names = append(names, m.Harness)
		}
		return nil, fmt.Errorf("profile %s: there is one for each of %s; add --harness", name, strings.Join(names, ", "))
	case from != "" && len(here) == 0:
		return nil, fmt.Errorf("profile %s: no profiles of harness %.40q%s; the harnesses are %s", name, harness,
			config.DidYouMean(harness, Harnesses()), strings.Join(Harnesses(), ", "))
	}
	if hint := config.DidYouMean(name, here); hint != "" {
		return nil, fmt.Errorf("no profile %.60q%s", name, hint)
	}
	if from == "" {
		return nil, fmt.Errorf("no profile %.60q%s, and no file of that name; `mlperf-go bench list` shows all profiles",
			name, config.DidYouMean(name, known))
	}
	return nil, fmt.Errorf("no profile %.60q; those of %s are %s", name, harness, strings.Join(here, ", "))
}

// cutHarness splits HARNESS/NAME. It returns false for other text, and if another harness was requested.
func cutHarness(wanted, text string) (harness, name string, ok bool) {
	harness, name, _ = strings.Cut(text, "/")
	isKnown := slices.ContainsFunc(Harnesses(), func(h string) bool { return fold(h) == fold(harness) })
	return harness, name, isKnown && !strings.Contains(name, "/") && (wanted == "" || fold(wanted) == fold(harness))
}

// Open reads a profile file of at most 1 MiB. The path may begin with ~/.
func Open(harness, name string) (*File, error) {
	if rest, home := strings.CutPrefix(name, "~/"); home {
		if folder, err := os.UserHomeDir(); err == nil {
			name = filepath.Join(folder, rest)
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the profile: %w; `mlperf-go bench list` shows the predefined ones", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the profile: %w", err)
	}
	if len(text) > largest {
		return nil, fmt.Errorf("profile %s is larger than %d bytes; is it a data set? Name that in the data.path of a "+
			"profile", name, largest)
	}
	if what, remedy := dataKind(text); what != "" {
		return nil, fmt.Errorf("%s is %s, and not a profile; %s", name, what, remedy)
	}
	return &File{harness, bare(filepath.Base(name)), name, text}, nil
}

// dataKind describes a file that was given as a profile and is something else, and what to do; empty: it may be one.
func dataKind(text []byte) (what, remedy string) {
	if what, remedy = foreign.TextKind(text); what != "" {
		return what, remedy
	}
	lines := strings.SplitN(strings.TrimLeft(string(text), "\ufeff \t\r\n"), "\n", 3)
	isObject := func(i int) bool { return i < len(lines) && json.Valid([]byte(lines[i])) && lines[i][0] == '{' }
	const isData = "name it in the data.path of a profile if it is a data set"
	switch {
	case bytes.HasPrefix(text, []byte("PAR1")):
		return "a Parquet file", isData
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return "binary data", isData
	case isObject(0) && isObject(1):
		return "JSON Lines", isData
	case strings.HasPrefix(lines[0], "["):
		return "a JSON list", isData
	case strings.Contains(lines[0], ",") && !strings.ContainsAny(lines[0], ":#{"):
		return "a table (CSV)", isData
	}
	return "", ""
}

// inFolder finds a profile in a folder of the user: FOLDER/HARNESS/NAME or FOLDER/NAME.
func inFolder(folder, harness, name string) (*File, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot list the folder of profiles: %w", err)
	}
	var below []string
	for _, e := range entries {
		switch {
		case e.IsDir() && (harness == "" || fold(e.Name()) == harness):
			below = append(below, e.Name())
		case !e.IsDir() && fold(bare(e.Name())) == name && bare(e.Name()) != e.Name():
			return Open(harness, filepath.Join(folder, e.Name()))
		}
	}
	for _, sub := range below {
		entries, err := os.ReadDir(filepath.Join(folder, sub))
		if err != nil {
			return nil, fmt.Errorf("cannot list the folder of profiles: %w", err)
		}
		for _, e := range entries {
			if !e.IsDir() && fold(bare(e.Name())) == name && bare(e.Name()) != e.Name() {
				return Open(sub, filepath.Join(folder, sub, e.Name()))
			}
		}
	}
	return nil, nil
}
