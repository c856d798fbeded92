package bench

import "github.com/mlperf-go/mlperf-go/workload/measure"

// Price is what the tokens of a run cost, in the currency of the price per hour.
type Price struct {
	PerHour          float64 `json:"per_hour"`                  // of all servers, as the user stated it
	PerMillionOutput float64 `json:"per_million_output_tokens"` // 0: the run has none
	PerMillion       float64 `json:"per_million_tokens"`        // prompts and answers
}

// NewPrice returns the price of a run's tokens; nil: the price of the servers is unknown. It is the price per second
// divided by the tokens per second.
func NewPrice(perHour float64, t *measure.Throughput) *Price {
	if perHour <= 0 {
		return nil
	}
	const secondsPerHour, million = 3600, 1e6
	p := &Price{PerHour: perHour}
	if t.OutputTokens > 0 {
		p.PerMillionOutput = perHour / secondsPerHour / t.OutputTokens * million
	}
	if t.TotalTokens > 0 {
		p.PerMillion = perHour / secondsPerHour / t.TotalTokens * million
	}
	return p
}
