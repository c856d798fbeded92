package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Ways in which Find has found a tokenizer.
const (
	FoundByPath  = "path"
	FoundInCache = "hugging-face-cache"
)

// FindOptions says where to look.
type FindOptions struct {
	HFHome   string // folder of the Hugging Face cache, usually ~/.cache/huggingface; empty: do not look there
	Revision string // branch or commit in the cache; empty: main
}

var (
	repository = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?$`)
	revision   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
)

// Find returns the path of the tokenizer.json that a name stands for and the way it was found: the path of a file or folder,
// then a model's name (organisation/model) in the local Hugging Face cache. Nothing is downloaded.
func Find(name string, o FindOptions) (path, how string, err error) {
	tried := []string{}
	if path, err = inFolder(name); err == nil {
		return path, FoundByPath, nil
	}
	tried = append(tried, fmt.Sprintf("as a path: %v", err))
	if o.HFHome == "" {
		tried = append(tried, "in the Hugging Face cache: no cache folder (HF_HOME) is known")
	} else if path, err = inCache(name, o); err == nil {
		return path, FoundInCache, nil
	} else {
		tried = append(tried, fmt.Sprintf("in the Hugging Face cache: %v", err))
	}
	return "", "", fmt.Errorf("no tokenizer found for %s (%s); name a tokenizer.json or its folder with --tokenizer, set HF_HOME to a cache that has the model, "+
		"use a server that answers /tokenize, or allow the download with --fetch-tokenizer", shown(name), strings.Join(tried, "; "))
}

// inFolder returns a file, or the tokenizer.json of a folder.
func inFolder(name string) (string, error) {
	if name == "" {
		return "", errors.New("the name is empty")
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		name = filepath.Join(name, "tokenizer.json")
		info, err = os.Stat(name)
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	return name, err
}

// inCache looks a model up in the layout of huggingface_hub: hub/models--ORG--NAME/snapshots/COMMIT/tokenizer.json, where
// refs/BRANCH holds the commit.
func inCache(name string, o FindOptions) (string, error) {
	branch := o.Revision
	if branch == "" {
		branch = "main"
	}
	switch {
	case !repository.MatchString(name):
		return "", fmt.Errorf("%s is not of the form organisation/model", shown(name))
	case !revision.MatchString(branch):
		return "", fmt.Errorf("%s is not a branch or a commit", shown(branch))
	}
	model := filepath.Join(o.HFHome, "hub", "models--"+strings.ReplaceAll(name, "/", "--"))
	commit := branch
	ref, err := readBounded(filepath.Join(model, "refs", branch), 200)
	if err == nil {
		commit = strings.TrimSpace(string(ref))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !revision.MatchString(commit) {
		return "", fmt.Errorf("%s holds %s, which is no commit", filepath.Join(model, "refs", branch), shown(commit))
	}
	return inFolder(filepath.Join(model, "snapshots", commit))
}
