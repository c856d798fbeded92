package profile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSummary(t *testing.T) {
	p, err := parse(chat)
	require.NoError(t, err)
	require.Equal(t, "poisson 2 /s × 60 s; closed 8 in flight × 100 requests", p.Load.Summary())
	require.Equal(t, "synthetic 384 (256–512) → 64", p.Data.Summary())

	l := Load{Stages: []Stage{{Arrival: Closed, Concurrency: 1, Requests: 3, Warmup: true}}}
	for rate := range 10 {
		l.Stages = append(l.Stages, Stage{Arrival: Constant, Rate: float64(rate + 1), Concurrency: 5, Duration: time.Minute})
	}
	require.Equal(t, "warm-up closed 1 in flight × 3 requests; constant 1 to 10 /s, 5 in flight × 60 s", l.Summary())
	l = Load{Sweep: &Sweep{Stages: 5, StageDuration: time.Minute}}
	require.Equal(t, "sweep of 5 stages × 60 s", l.Summary())

	d := Data{Kind: SharedPrefix, Output: FixedAt(5), Images: &Images{Count: FixedAt(2)},
		Groups: &Groups{Count: 3, Users: 4, System: FixedAt(6), Question: &Distribution{Kind: "uniform", Min: 1, Max: 2}}}
	require.Equal(t, "shared-prefix 3 × 4, 6 + 1–2 → 5, images 2", d.Summary())
	require.Equal(t, "none", (&Data{Kind: None}).Summary())
	require.Equal(t, "sharegpt", (&Data{Kind: ShareGPT}).Summary())
	require.Equal(t, "50 ± 10", (&Distribution{Kind: "normal", Mean: 50, StdDev: 10}).Summary())
}
