// Package floor keeps what this program itself adds to the figures of a run, as `mlperf-go calibrate` measured it on
// one machine: the highest rates that it holds, the error of its time stamps, and its shortest latencies.
//
//	c, err := floor.Read("calibration.json")
//	use := floor.Beside(c, host, tool, floor.Rates{Requests: 210, Tokens: 26_000}, shards)
//	fmt.Println(use)
//
// A calibration belongs to one machine and one version of the program. Use.Foreign reports any other, so that its
// figures are never taken for this machine's.
//
// The package measures nothing (package calibrate does) and prints nothing. It imports run/record, run/exit and
// metrics/hostinfo.
package floor
