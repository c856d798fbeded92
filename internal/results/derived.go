package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Derived is the folder, in that of a run, of files that were made from it.
const Derived = "convert"

// derivedList is the file in Derived that lists the files that this program wrote, with their SHA-256.
const derivedList = ".written.json"

// NoteDerived adds files in the folder Derived of a run to its list, so that RemoveDerived may delete them. The paths
// begin with that folder.
func NoteDerived(run string, paths []string) error {
	root, err := os.OpenRoot(filepath.Join(run, Derived))
	if err != nil {
		return err
	}
	defer root.Close()
	list := readDerived(root)
	for _, path := range paths {
		name, err := filepath.Rel(filepath.Join(run, Derived), path)
		if err != nil {
			return err
		}
		if list[name], err = sum(root, name); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return root.WriteFile(derivedList, append(text, '\n'), 0o600)
}

// RemoveDerived deletes the listed files of a run that is replaced. Files that changed since, and files that this
// program did not write, stay; left reports that there are some. A missing folder is no error.
func RemoveDerived(run string) (left bool, err error) {
	folder := filepath.Join(run, Derived)
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
		return err == nil, ignoreMissing(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return true, err
	}
	defer root.Close()
	for name, was := range readDerived(root) {
		if now, failed := sum(root, name); failed == nil && now == was {
			err = errors.Join(err, root.Remove(name))
			_ = root.Remove(filepath.Dir(name)) // the folder of a format, unless it has other files
		}
	}
	entries, failed := fs.ReadDir(root.FS(), ".")
	if failed != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != derivedList }) {
		return true, errors.Join(err, failed)
	}
	if err = errors.Join(err, ignoreMissing(root.Remove(derivedList))); err != nil {
		return true, err
	}
	return false, os.Remove(folder)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readDerived returns the SHA-256 of each listed file by its path. Without a readable list no file is this program's.
func readDerived(root *os.Root) map[string]string {
	list := map[string]string{}
	text, err := root.ReadFile(derivedList)
	if err != nil || json.Unmarshal(text, &list) != nil {
		return map[string]string{}
	}
	maps.DeleteFunc(list, func(name, _ string) bool { return !filepath.IsLocal(name) || filepath.Dir(name) == "." })
	return list
}

// sum returns the SHA-256 of a regular file.
func sum(root *os.Root, name string) (string, error) {
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file: %w", name, errors.Join(err, fs.ErrInvalid))
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), nil
}
