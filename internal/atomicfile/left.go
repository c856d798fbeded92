package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Left returns the path of the newest unfinished file of path, which a killed writer left; "" without one, or if path
// exists. A writer that still runs has such a file too.
func Left(path string) string {
	if _, err := os.Lstat(path); err == nil {
		return ""
	}
	folder, name := filepath.Split(filepath.Clean(path))
	entries, _ := os.ReadDir(filepath.Clean(folder)) // a folder that cannot be read has none
	newest, at := "", time.Time{}
	for _, e := range entries {
		if !isUnfinished(e.Name(), name) {
			continue
		}
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && info.ModTime().After(at) {
			newest, at = filepath.Join(folder, e.Name()), info.ModTime()
		}
	}
	return newest
}

// finalName returns the name that an unfinished file would get; other names are returned unchanged.
func finalName(path string) string {
	rest, unfinished := strings.CutSuffix(path, tmpSuffix)
	if i := strings.LastIndexByte(rest, '.'); unfinished && i >= 0 && isRandom(rest[i+1:]) {
		return rest[:i]
	}
	return path
}
