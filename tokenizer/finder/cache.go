package finder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/tokenizer"
)

var (
	repository = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?$`)
	revision   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
)

const defaultRevision = "main"

// FromEnviron returns Options with the cache, hub and token that the environment names in the variables that
// huggingface_hub reads. If a name occurs twice, the last one counts.
func FromEnviron(environ []string) Options {
	env := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	first := func(names ...string) string {
		i := slices.IndexFunc(names, func(n string) bool { return env[n] != "" })
		if i < 0 {
			return ""
		}
		return env[names[i]]
	}
	under := func(folder string, below ...string) string {
		if folder == "" {
			return ""
		}
		if rest, ok := strings.CutPrefix(folder, "~/"); ok && env["HOME"] != "" {
			folder = filepath.Join(env["HOME"], rest)
		}
		return filepath.Join(append([]string{folder}, below...)...)
	}
	home := under(first("HF_HOME"))
	if home == "" {
		home = under(first("XDG_CACHE_HOME"), "huggingface")
	}
	if home == "" {
		home = under(first("HOME"), ".cache", "huggingface")
	}
	o := Options{Cache: under(first("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")), Hub: first("HF_ENDPOINT"),
		Token: Secret(first("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"))}
	if o.Cache == "" {
		o.Cache = under(home, "hub")
	}
	if o.TokenFile = under(first("HF_TOKEN_PATH")); o.TokenFile == "" {
		o.TokenFile = under(home, "token")
	}
	o.Offline = slices.Contains([]string{"1", "on", "yes", "true"},
		strings.ToLower(first("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")))
	return o
}

// fileOf returns a file, or the tokenizer file of a folder.
func fileOf(name string) (string, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return tokenizer.InFolder(name)
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	return name, err
}

// inCache looks the names up in the folder layout of huggingface_hub:
// models--ORG--NAME/snapshots/COMMIT/tokenizer.json, where refs/BRANCH contains the commit.
func inCache(_ context.Context, s *search, names []string) *Found {
	const way = "in the Hugging Face cache"
	if s.o.Cache == "" {
		s.note(way, errors.New("no cache folder (set HF_HOME)"))
		return nil
	}
	for _, name := range names {
		path, commit, err := s.cached(name)
		if err == nil {
			var f *Found
			if f, err = open(path, Source{Way: ByCache, Name: name, Place: path, Revision: commit}); err == nil {
				return f
			}
		}
		s.note(way, err)
	}
	return nil
}

// branch returns the requested branch or commit. It returns an error if the name is not valid.
func (s *search) branch() (string, error) {
	switch {
	case s.o.Revision == "":
		return defaultRevision, nil
	case !revision.MatchString(s.o.Revision):
		return "", fmt.Errorf("%.60q is not a branch or commit", s.o.Revision)
	}
	return s.o.Revision, nil
}

// modelFolder returns a model's folder in the cache.
func (s *search) modelFolder(name string) (string, error) {
	if !repository.MatchString(name) {
		return "", fmt.Errorf("%.60q is not of the form organisation/model", name)
	}
	return filepath.Join(s.o.Cache, "models--"+strings.ReplaceAll(name, "/", "--")), nil
}

func (s *search) cached(name string) (path, commit string, err error) {
	branch, err := s.branch()
	if err != nil {
		return "", "", err
	}
	model, err := s.modelFolder(name)
	if err != nil {
		return "", "", err
	}
	commit = branch
	ref, err := readSmall(filepath.Join(model, "refs", branch))
	if err == nil {
		commit = ref
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	if !revision.MatchString(commit) {
		return "", "", fmt.Errorf("%s contains %.60q, which is not a commit", filepath.Join(model, "refs", branch), commit)
	}
	path, err = tokenizer.InFolder(filepath.Join(model, "snapshots", commit))
	return path, commit, err
}

// readSmall reads a file of one short line.
func readSmall(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 4096)
	n, err := f.Read(b)
	if n == len(b) {
		return "", fmt.Errorf("%s has more than %d bytes", path, len(b)-1)
	}
	if n == 0 && err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return strings.TrimSpace(string(b[:n])), nil
}
