package report

import (
	"fmt"
	"math"
)

// Thresholds for what the CPU time of this program shows about a late client
// (docs/reference/report.md#what-limited-the-run).
const (
	idleCPUs   = 0.5  // share of one CPU, below which the program left CPU time unused
	fullShare  = 0.8  // share of its CPUs, above which it used them up
	sameBusy   = 0.1  // difference of the machine's load that is not significant
	busyEnough = 0.75 // load of the machine that is worth a sentence
)

// ownCPUs returns how many CPUs this program used over the run; NaN: unknown.
func (r *Run) ownCPUs() float64 {
	if c := r.Record.Client.CPUS; c > 0 && r.Record.DurationS > 0 {
		return c / r.Record.DurationS
	}
	return math.NaN()
}

// clientCPU distinguishes a program that did not get CPU time from one that used up its CPUs; "": its use is unknown.
// If stood, the program did nothing for a while; otherwise it was late.
func (r diagnosis) clientCPU(when string, used float64, stood bool) string {
	of := r.Record.Host.CPUsAllowed
	if math.IsNaN(used) || of <= 0 {
		return ""
	}
	text := fmt.Sprintf(" %s, it used %s of its %d CPUs", when, rounded(used), of)
	switch {
	case used < idleCPUs && !stood:
		return text + ": it was not busy itself. Was it throttled by a control group (cpu.max), or crowded out by other " +
			"programs, or did it wait for connections?"
	case used < idleCPUs:
		return text + ": it did not get to run. Was it stopped, throttled by a control group (cpu.max), or crowded out by " +
			"other programs?"
	case used >= fullShare*float64(of):
		return text + ": it used them up. Give it more CPUs, or less load."
	}
	return text + ": one of its threads (--shards) or a control group (cpu.max) may have been the limit."
}

// machineCPU states how busy the machine was over the run.
func (r diagnosis) machineCPU() string {
	if cpu, ok := r.signal("machine_cpu"); ok && cpu.Mean >= busyEnough {
		return fmt.Sprintf(" All programs together kept the machine's CPUs %s busy.", percent(cpu.Mean))
	}
	return ""
}

// stoodWhy states the load of this program and of its machine while the client stood still.
func (r diagnosis) stoodWhy(pauses []stall) string {
	used, _ := r.meanIn("client_cpu", pauses)
	text := ""
	if !math.IsNaN(used) {
		text = r.clientCPU("While it stood still", used, true)
	} else {
		text = r.clientCPU("Over the run", r.ownCPUs(), true)
	}
	in, out := r.meanIn("machine_cpu", pauses)
	switch {
	case math.IsNaN(in) || math.IsNaN(out) || in < busyEnough:
	case out-in > -sameBusy:
		text += fmt.Sprintf(" The machine's CPUs were %s busy then and %s at other times, so that its load alone does not "+
			"explain the pauses.", percent(in), percent(out))
	default:
		text += fmt.Sprintf(" The machine's CPUs were %s busy then and %s at other times.", percent(in), percent(out))
	}
	return text
}

// meanIn returns the mean of a signal inside and outside of some pauses. Each reading covers the time since the one
// before. NaN: there was no reading.
func (r diagnosis) meanIn(key string, pauses []stall) (in, out float64) {
	line := r.line(key)
	var sumIn, sumOut, within, without float64
	for k := 1; k < len(line.TimesS); k++ {
		v := line.Values[k]
		if math.IsNaN(v) {
			continue
		}
		from, to := line.TimesS[k-1]+r.metricsShift(), line.TimesS[k]+r.metricsShift()
		overlap := 0.0
		for i := range pauses {
			overlap += max(min(to, r.at(pauses[i].toNS))-max(from, r.at(pauses[i].fromNS)), 0)
		}
		sumIn, within = sumIn+v*overlap, within+overlap
		sumOut, without = sumOut+v*(to-from-overlap), without+to-from-overlap
	}
	return sumIn / within, sumOut / without
}
