package models

// Round is one submission round and the seeds that its performance runs must use.
type Round struct {
	Name            string // such as v6.1
	QSLSeed         uint64 // qsl_rng_seed
	SampleIndexSeed uint64 // sample_index_rng_seed
	ScheduleSeed    uint64 // schedule_rng_seed
}

// CurrentRound is the round whose seeds the linked LoadGen carries.
const CurrentRound = "v6.1"

// rounds is the table of spec/models.md §1, oldest first.
var rounds = []Round{
	{"v5.1", 1780908523862526354, 14771362308971278857, 18209322760996052031},
	{"v6.0", 2465351861681999779, 14276810075590677512, 3936089224930324775},
	{"v6.1", 2085463073848966840, 2747215439041700203, 16159082839903944936},
}

// Rounds gives the known rounds, oldest first.
func Rounds() []Round {
	return append([]Round(nil), rounds...)
}

// FindRound finds a round by name, with or without the leading v.
func FindRound(name string) (Round, bool) {
	for _, r := range rounds {
		if r.Name == name || r.Name == "v"+name {
			return r, true
		}
	}
	return Round{}, false
}
