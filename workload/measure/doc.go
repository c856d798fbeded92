// Package measure computes the figures of a workload's run from its event log alone, by the definitions of this program
// or of another benchmark client.
//
//	m, err := measure.Log(path, measure.Options{Definition: "vllm", Stages: stages})
//	fmt.Println(m.Total.Latency["ttft"].Percentile["p99"])
//
// docs/reference/bench.md has the formula of each metric. Percentiles are exact up to Most values; beyond, they come
// from a histogram with an error of 0.8 %. The memory does not depend on the number of tokens, and with Most values of
// each metric it stays below 500 MB, because a long log is read several times, for some metrics each.
//
// The package prints nothing, writes nothing, and must not import run or cmd.
package measure
