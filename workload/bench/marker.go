package bench

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/engine"
)

// experimentVariable names the experiment of a harness that watches this program.
const experimentVariable = "LLMDBENCH_RUN_EXPERIMENT_ID"

// stackVariable names the stack that a harness measures.
const stackVariable = "LLMDBENCH_HARNESS_STACK_NAME"

// markEnd writes the file that shows a harness that the servers get no more requests, so that it can stop profilers
// there. It is written as soon as the last request has ended, also after an interruption; a run that sent nothing
// has none. A harness that watches the output gets a line too.
func (t *trial) markEnd(o *engine.Outcome) {
	if o == nil || len(o.Spans) == 0 {
		return
	}
	experiment := t.variable(experimentVariable)
	last := o.Spans[len(o.Spans)-1]
	id, at := cmp.Or(experiment, t.id()), time.Unix(0, last.EndNS).UTC().Format(time.RFC3339Nano)
	err := t.Access.WriteBytes(t.path(MarkerName), fmt.Appendf(nil, "schema_version: \"1\"\nevent: traffic_complete\n"+
		"experiment_id: %q\nfinal_stage_id: %d\ncompleted_at: %q\n", id, last.Stage, at))
	if err != nil {
		t.notes = append(t.notes, "the end of the traffic could not be marked: "+err.Error())
	}
	if experiment != "" && t.Observer != nil {
		t.Observer.Note(fmt.Sprintf("LLMDBENCH_EVENT_V1 traffic_complete experiment_id=%q final_stage_id=%d completed_at=%s",
			id, last.Stage, at))
	}
}

// variable returns a variable of the harness that started this program; empty: it is not set.
func (t *trial) variable(name string) string {
	for _, v := range t.Environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
