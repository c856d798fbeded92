package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// command is one word of the program: the names of its arguments, and its function.
type command struct {
	usage     string
	arguments int // at least
	run       func(args []string, w io.Writer) error
}

var commands = map[string]command{
	"changelog": {"VERSION", 1, func(a []string, w io.Writer) error { return writeChangelog(".", a[0], w) }},
	"check":     {"BINARY", 1, func(a []string, _ io.Writer) error { return check(a[0]) }},
	"sbom": {"VERSION MODULES.json GCC-VERSION", 3,
		func(a []string, w io.Writer) error { return writeSBOM(a[0], a[1], a[2], w) }},
	"rootfs": {"BINARY COMPILER DIR", 3, func(a []string, _ io.Writer) error { return writeRootfs(a[0], a[1], a[2]) }},
	"image": {"VERSION DIR ARCH=ROOTFS...", 3,
		func(a []string, _ io.Writer) error { return writeImage(a[0], a[1], a[2:]) }},
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("no command given; scripts/release/doc.go lists them")
	}
	c, ok := commands[args[0]]
	if !ok || len(args)-1 < c.arguments {
		return fmt.Errorf("unknown command or too few arguments: %q requires %q", args[0], c.usage)
	}
	return c.run(args[1:], w)
}

// released returns the time of the release's commit, which every file carries.
func released() (time.Time, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH must be the time of the commit in seconds: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
