package main

import (
	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/kube/objects"
)

// rightsCommand prints the rights that the launcher needs.
type rightsCommand struct{ *program }

func (cmd rightsCommand) command() *cli.Command {
	return &cli.Command{
		Name: "rights", Usage: "print the Role that the user of the launcher needs",
		Flags: []cli.Flag{
			contractFlag("namespace", namespaceUsage),
			&cli.StringFlag{Name: "user", Usage: "user to bind it to", Value: "USER"},
			&cli.BoolFlag{Name: "servers", Usage: "print the Role for `server up` and `server down` instead"},
		},
		Action: func(c *cli.Context) error {
			if c.Bool("servers") {
				return cmd.printObjects(objects.ServerRights(stackOf(c), c.String("user")))
			}
			return cmd.printObjects(objects.Rights(namespaceOf(c), stackOf(c), c.String("user")))
		},
	}
}
