package sim

import (
	"fmt"
	"os"
	"path/filepath"
)

// WriteReadyFile writes url and a line end to path in one step: a reader sees the whole line or no file.
func WriteReadyFile(path, url string) error {
	fail := func(err error) error {
		return fmt.Errorf("writing the ready file %s: %w; name a file in a folder that exists and can be written", path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fail(err)
	}
	_, err = tmp.WriteString(url + "\n")
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(tmp.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fail(err)
	}
	return nil
}
