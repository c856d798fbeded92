// Package floor stores the limits of this program itself, which `mlperf-go calibrate` measured on one machine: the
// highest rates, the error of its time stamps, and its shortest latencies.
//
//	c, err := floor.Read("calibration.json")
//	use := floor.Beside(c, host, tool, floor.Rates{Requests: 210, Tokens: 26_000}, shards)
//	fmt.Println(use)
//
// A calibration belongs to one machine and one version of the program. Use.Foreign lists the differences if it is
// another's, so that its figures are not mistaken for this machine's.
//
// The package measures nothing (package calibrate does) and prints nothing. It imports run/record, run/exit and
// metrics/hostinfo.
package floor
