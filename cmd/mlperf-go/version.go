package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// versionCommand prints the version and the build.
type versionCommand struct{ *program }

func (cmd versionCommand) command() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print version and build information", OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			t := record.ThisTool()
			if cmd.json {
				cmd.writeJSON(t)
				return nil
			}
			fmt.Fprintf(cmd.stdout, "mlperf-go %s\nLoadGen %s @ %s\n%s\n", t.Version, t.LoadGen, t.LoadGenRevision, t.Go)
			if t.LoadGen != record.PinnedLoadGen {
				cmd.log.Warn("this build does not use the pinned LoadGen " + record.PinnedLoadGen)
			}
			return nil
		},
	}
}
