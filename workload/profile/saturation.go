package profile

import (
	"cmp"
	"time"
)

// Saturation ends a stage that sends more than its server can take: the requests in flight and the times to first
// tokens both grow, and more than half of these times are above a limit. A value of 0 is the default, which is
// guidellm's (its version 0.8.1, schemas/scheduler/constraints/saturation.py).
type Saturation struct {
	Mode        string        `yaml:"mode,omitempty" one:"enforce monitor" doc:"end the stage, or report it only"`
	Scope       string        `yaml:"scope,omitempty" one:"stage all" doc:"what ends: the stage, or all further ones too"`
	MinTime     time.Duration `yaml:"min_time,omitempty" doc:"of a stage before it can end; 0: 30s"`
	TTFT        time.Duration `yaml:"ttft,omitempty" doc:"that at least half of the requests exceed; 0: 2.5s"`
	Margin      float64       `yaml:"margin,omitempty" is:">=0" doc:"of error of a slope, relative to the slope; 0: 2"`
	Confidence  float64       `yaml:"confidence,omitempty" is:"0..1" doc:"of the margin; 0: 0.95"`
	Window      time.Duration `yaml:"window,omitempty" doc:"of the slopes; 0: 120s"`
	WindowShare float64       `yaml:"window_share,omitempty" is:"0..1" doc:"of all values, the latest; 0: 0.75"`
	MinPoints   int           `yaml:"min_points,omitempty" is:">=0" doc:"fewest values, and seconds, of a slope; 0: 5"`
}

// Values of Saturation's keys.
const (
	Enforce   = "enforce" // of mode
	AllStages = "all"     // of scope
)

// Full returns the rule with its defaults.
func (s *Saturation) Full() Saturation {
	return Saturation{Mode: cmp.Or(s.Mode, Enforce), Scope: cmp.Or(s.Scope, "stage"),
		MinTime: cmp.Or(s.MinTime, 30*time.Second), TTFT: cmp.Or(s.TTFT, 2500*time.Millisecond),
		Margin: cmp.Or(s.Margin, 2), Confidence: cmp.Or(s.Confidence, .95), Window: cmp.Or(s.Window, 2*time.Minute),
		WindowShare: cmp.Or(s.WindowShare, .75), MinPoints: cmp.Or(s.MinPoints, 5)}
}
