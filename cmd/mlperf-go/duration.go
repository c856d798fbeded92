package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

// duration is the value of a flag that is parsed like the settings of a test: a Go duration, or whole seconds.
type duration time.Duration

// Set implements flag.Value.
func (d *duration) Set(text string) error {
	parsed, err := config.ParseDuration(text)
	*d = duration(parsed)
	return err
}

// String implements flag.Value. cli.Context.Duration parses it.
func (d *duration) String() string { return time.Duration(*d).String() }

// durationFlag returns f with a duration as its value.
func durationFlag(f cli.GenericFlag, standard time.Duration) *cli.GenericFlag {
	value := duration(standard)
	f.Value = &value
	return &f
}
