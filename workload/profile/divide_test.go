package profile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Loads that several shards cannot send are rejected for every number of shards; one shard can send any load.
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
		"2 in flight": {with(func(p *Profile) { p.Load.InFlight = 2 }), 2, "stage 0: 3 shards cannot divide 2"},
		"9 in flight": {with(func(p *Profile) { p.Load.InFlight = 9 }), 4, "stage 1: 5 shards cannot divide 4"},
		"sweep":       {with(func(p *Profile) { p.Load.Sweep = &Sweep{} }), 1, "a sweep cannot be divided"},
		"over-saturation": {with(func(p *Profile) { p.Load.Saturation = &Saturation{Scope: AllStages} }), 1,
			"load.over_saturation.scope all cannot be divided"},
		"over-saturation of a stage": {with(func(p *Profile) { p.Load.Saturation = &Saturation{} }), 4, "stage 1: 5 shards"},
		"conversations": {with(func(p *Profile) {
			p.Data.Kind, p.Data.Turns = Conversations, &Turns{Conversations: 3}
		}), 3, "stage 0: 4 shards cannot divide 3 conversations; use fewer shards"},
		"users of conversations": {with(func(p *Profile) {
			p.Data.Kind, p.Data.Turns = Conversations, &Turns{Conversations: 3}
			p.Load.Stages = p.Load.Stages[1:]
		}), 4, "stage 0: 5 shards cannot divide 4 requests"},
		"sessions": {with(func(p *Profile) {
			p.Data.Kind, p.Load.Stages = Recorded, []Stage{{Arrival: Sessions, Concurrency: 6}}
		}), 6, "stage 0: 7 shards cannot divide 6 requests"},
		"several turns": {with(func(p *Profile) {
			p.Data.Groups = &Groups{MultiTurn: true, Count: 2, Users: 1}
		}), 2, "stage 0: 3 shards cannot divide 2 conversations"},
		"one turn": {with(func(p *Profile) { p.Data.Groups = &Groups{} }), 4, "stage 1: 5 shards"},
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
