// Package config owns the effective configuration of a run: every setting as one row of a table, its value, and where
// the value came from.
//
// In come texts, from the model registry, a YAML file, a LoadGen user.conf, the environment and flags, in this order of
// precedence; each text is parsed by its setting's kind and refused with the nearest known name. Out go typed values
// with origins, the same configuration as YAML, and the one user.conf that LoadGen is given. The command line, the
// environment names and the file's keys all follow from the table.
//
// The package also owns the strict reader of LoadGen's configuration files: what LoadGen would ignore, cut off or fail
// on without saying so is an error here, with file, line and key.
//
// It must not import other packages of the project, and reads no flags, no environment and no terminal itself.
package config
