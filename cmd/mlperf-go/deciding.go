package main

import (
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// printDeciding prints what decides a Server test: the rate, and each percentile with its limit.
func printDeciding(w io.Writer, r *record.Record) {
	if target, achieved, ok := r.Rate(); ok {
		fmt.Fprintf(w, "rate\ttarget %.6g/s, achieved %.6g/s\n", target, achieved)
	}
	for i, l := range r.Limits() {
		name := "limits"
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(w, "%s\t%s\n", name, l.String())
	}
}
