package profile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What several shards cannot send together is refused, for every number of them; one shard sends anything.
func TestDivide(t *testing.T) {
	with := func(change func(*Profile)) *Profile {
		p := Defaults()
		p.Load.Stages = []Stage{{Arrival: Poisson, Rate: 5}, {Arrival: Closed, Concurrency: 4}}
		change(p)
		return p
	}
	for name, c := range map[string]struct {
		p     *Profile
		most  int // shards; 0: any number
		error string
	}{
		"no limit": {with(func(p *Profile) { p.Load.Stages[1].Concurrency = 0 }), 0, ""},
		"4 at a time": {with(func(*Profile) {}), 4,
			"stage 1: 5 shards cannot divide 4 requests in flight; use fewer shards"},
		"2 in flight":   {with(func(p *Profile) { p.Load.InFlight = 2 }), 2, "stage 0: 3 shards cannot divide 2"},
		"9 in flight":   {with(func(p *Profile) { p.Load.InFlight = 9 }), 4, "stage 1: 5 shards cannot divide 4"},
		"sweep":         {with(func(p *Profile) { p.Load.Sweep = &Sweep{} }), 1, "a sweep cannot be divided"},
		"conversations": {with(func(p *Profile) { p.Data.Kind = Conversations }), 1, "conversations and sessions"},
		"sessions":      {with(func(p *Profile) { p.Data.Kind = Recorded }), 1, "conversations and sessions"},
		"several turns": {with(func(p *Profile) { p.Data.Groups = &Groups{MultiTurn: true} }), 1, "conversations and"},
		"one turn":      {with(func(p *Profile) { p.Data.Groups = &Groups{} }), 4, "stage 1: 5 shards"},
	} {
		for parts := range 12 {
			err := c.p.Divide(parts)
			if c.most == 0 || parts <= c.most {
				require.NoError(t, err, "%s: %d shards", name, parts)
				continue
			}
			require.Error(t, err, "%s: %d shards", name, parts)
			if parts == c.most+1 {
				require.ErrorContains(t, err, c.error, name)
			}
		}
	}
}
