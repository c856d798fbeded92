package main

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run"
)

const mostPercentiles = 10

// percentilesFlag selects the percentiles of latencies.
func percentilesFlag() cli.Flag {
	return &cli.StringFlag{Name: "percentiles", Usage: "percentiles of the latencies, such as 50,90,99.9"}
}

// percentilesOf returns the percentiles of the flag; none without it.
func percentilesOf(c *cli.Context) ([]float64, error) {
	text := c.String("percentiles")
	if text == "" {
		return nil, nil
	}
	var list []float64
	for word := range strings.SplitSeq(text, ",") {
		p, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(word), "p"), 64)
		if err != nil || !(p > 0 && p < 100) {
			return nil, run.UsageError("percentiles", "Give numbers between 0 and 100, such as 50,90,99.9",
				"--percentiles %s: %q is not a percentile", text, word)
		}
		list = append(list, p)
	}
	if len(list) > mostPercentiles {
		return nil, run.UsageError("percentiles", "Give fewer", "--percentiles %s: more than %d", text, mostPercentiles)
	}
	return list, nil
}
