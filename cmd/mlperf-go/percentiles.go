package main

import (
	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// percentilesFlag selects the percentiles of latencies.
func percentilesFlag() cli.Flag {
	return &cli.StringFlag{Name: "percentiles", Usage: "percentiles of the latencies, such as 50,90,99.9"}
}

// percentilesOf parses the percentiles of the flag; nil if it was not given.
func percentilesOf(c *cli.Context) ([]float64, error) {
	list, err := record.ParsePercentiles(c.String("percentiles"))
	if err != nil {
		return nil, exit.Usage(exit.CodePercentiles, "Give at most 10 numbers between 0 and 100, such as 50,90,99.9", "%w",
			err)
	}
	return list, nil
}
