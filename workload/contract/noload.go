package contract

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/workload/template"
)

// noLoad maps switches of a cluster's launcher under which no load is sent to what does the same.
var noLoad = map[string]string{
	"dry-run": "`mlperf-go bench plan` prints what would be sent",
	"skip":    "`mlperf-go-kube run --skip` collects an earlier run",
	"debug":   "`mlperf-go-kube run --debug` starts pods that wait",
}

// CheckLoad rejects a run without a cluster if a variable, or the scenario file, sets a switch that forbids its load.
func CheckLoad(flags Flags, environ template.Lookup) error {
	all, err := ClusterVariables(flags, environ)
	if err != nil {
		return err
	}
	for _, s := range Settings() {
		remedy := noLoad[s.Flag]
		if on, _ := strconv.ParseBool(all[s.Flag]); on && remedy != "" { // what is no truth value sets no switch
			return fmt.Errorf("%s is set, so that no load may be sent, and this command sends it; unset it. %s",
				strings.Join(s.Variables, " or "), remedy)
		}
	}
	return nil
}
