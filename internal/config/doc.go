// Package config holds the effective configuration of a run: a table of all settings, their values, and the source of
// each value.
//
// An Effective is filled from the model registry, a YAML file, a LoadGen user.conf, the environment and flags; later
// sources take precedence. Each text is parsed by the kind of its setting; an unknown name is an error that suggests
// similar names. Effective returns typed values with their origins, writes itself as YAML, and generates the user.conf
// for LoadGen. Flags, environment names and keys of the YAML file are all derived from the table.
//
//	c := config.New(config.RunSettings())
//	err := c.Set("target-qps", "12.5", config.Origin{Layer: config.FromFlag, Where: "--target-qps"})
//
// ParseConf reads LoadGen's own configuration files strictly: a line that LoadGen would silently ignore, truncate or
// misread is an error with file, line and key.
//
// The package must not import other packages of the project, and reads no flags, environment or terminal itself.
package config
