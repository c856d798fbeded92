package series

import "math"

// Names of the series by which Energy computes (docs/reference/metrics.md#gpus).
const (
	powerName  = "gpu_power_watts"
	energyName = "gpu_energy_joules_total"
)

// IsEnergy reports whether Energy needs a series.
func IsEnergy(s *Series) bool { return s.Name == powerName || s.Name == energyName }

// Energy returns the joules that all GPUs of the set used between their first and their last reading: the growth of a
// GPU's own counter, or else the integral of its power. It is 0 without such series.
func Energy(set *Set) (joules float64) {
	type key struct {
		target int
		gpu    string
	}
	counted := map[key]float64{}
	for _, s := range set.Series {
		if s.Name == energyName {
			if total := growth(s.Values); total > 0 {
				counted[key{s.Target, s.Labels["gpu"]}] = total
			}
		}
	}
	for _, s := range set.Series {
		k := key{s.Target, s.Labels["gpu"]}
		if _, has := counted[k]; s.Name == powerName && !has {
			counted[k] = integral(set.Scrapes[s.Target].TimesS, s.Values)
		}
	}
	for _, j := range counted {
		joules += j
	}
	return joules
}

// growth returns how much a counter grew. It bridges absent values and restarts.
func growth(values []float64) (total float64) {
	last := math.NaN()
	for _, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if !math.IsNaN(last) {
			total += Growth(last, v)
		}
		last = v
	}
	return total
}

// integral returns the area below a line, by trapezoids between the present values.
func integral(timesS, values []float64) (area float64) {
	last := -1
	for i, v := range values[:min(len(values), len(timesS))] {
		if math.IsNaN(v) {
			continue
		}
		if last >= 0 {
			area += (timesS[i] - timesS[last]) * (v + values[last]) / 2
		}
		last = i
	}
	return area
}
