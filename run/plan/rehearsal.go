package plan

import (
	"slices"
	"strings"
)

// Profiled is a reason of a rehearsal; "" without a profiler.
func Profiled(profilers []string) string {
	if len(profilers) == 0 {
		return ""
	}
	return "profiled: the servers were started with a profiler (" + strings.Join(profilers, ", ") + ")"
}

// AddRehearsal adds a reason, once; "" is none.
func (p *Plan) AddRehearsal(why string) {
	if why != "" && !slices.Contains(p.Rehearsal, why) {
		p.Rehearsal = append(p.Rehearsal, why)
	}
}
