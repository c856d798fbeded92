package servers

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SetModel has the servers load the model of a folder.
func (c *Config) SetModel(folder string) error {
	s, err := os.Stat(folder)
	if err == nil && !s.IsDir() {
		err = fmt.Errorf("%s is no folder", folder)
	}
	if err != nil {
		return fmt.Errorf("the model's folder can not be used: %w; give the folder that has config.json and the weights", err)
	}
	c.Model = folder
	return nil
}

// SetBackend chooses the engine where no file does.
func (c *Config) SetBackend(name string) error {
	if _, known := engines[name]; !known {
		return fmt.Errorf("the backend %s can not be started without a file: %s can, any other needs a launch_command in a "+
			"server config", name, strings.Join(slices.Sorted(maps.Keys(engines)), " and "))
	}
	c.Backend = name
	return nil
}

// SetPython has the servers run in a virtual environment, given by its folder, or with an interpreter.
func (c *Config) SetPython(path string) error {
	if len(c.LaunchCommand) > 0 {
		return fmt.Errorf("server config %s: launch_command names its own program, which the Python %s can not replace: "+
			"leave one of them out", c.Name, path)
	}
	s, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("the servers' Python can not be used: %w; give the folder of a virtual environment (`python3 -m "+
			"venv` makes one), or an interpreter", err)
	}
	if !s.IsDir() {
		c.Binary = path
		return nil
	}
	if c.Venv, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("the servers' Python: %w", err)
	}
	c.Binary = filepath.Join(c.Venv, "bin", "python")
	if _, err := os.Stat(c.Binary); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the folder %s is no virtual environment: it has no bin/python; make one with `python3 -m venv`",
			path)
	}
	return nil
}
