package schedule

// Order holds the settings that decide which sample LoadGen sends with each query of a Server performance test.
type Order struct {
	SetSeed    uint64 // LoadGen's qsl_rng_seed
	SampleSeed uint64 // LoadGen's sample_index_rng_seed
	Samples    int    // number of performance samples
	EqualIssue bool   // LoadGen's sample_concatenate_permutation
	MinQueries int    // LoadGen's min_query_count, which determines the number of permutations in equal issue
}

// Sequence returns the sample indices of the first n queries in the order of LoadGen
// (docs/reference/loadgen.md#sample-order). It returns nil if n or the number of samples is not positive.
func (o Order) Sequence(n int) []int {
	if n <= 0 || o.Samples <= 0 {
		return nil
	}
	set := identity(o.Samples)
	newTwister(o.SetSeed).shuffle(set)
	t := newTwister(o.SampleSeed)
	t.shuffle(identity(o.Samples)) // the order of unique samples: drawn whether or not it is used
	var table []int
	for permutation := identity(o.Samples); len(table) < o.MinQueries; {
		t.shuffle(permutation) // shuffles the same array again
		table = append(table, permutation...)
	}
	list := make([]int, n)
	for i := range list {
		if o.EqualIssue && len(table) > 0 {
			list[i] = set[table[i%len(table)]]
		} else {
			list[i] = set[t.below(uint32(o.Samples))]
		}
	}
	return list
}

func identity(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// below returns a number from 0 to n-1; n must be above 0. Like libstdc++ since GCC 11 it uses Lemire's multiplication
// with rejection ("Fast Random Integer Generation in an Interval", 2019).
func (t *twister) below(n uint32) uint32 {
	product := uint64(t.uint32()) * uint64(n)
	if uint32(product) < n {
		for reject := -n % n; uint32(product) < reject; {
			product = uint64(t.uint32()) * uint64(n)
		}
	}
	return uint32(product >> 32)
}

// pairable is the maximum length of a list for which libstdc++ draws the numbers of two swaps together.
const pairable = 1<<16 - 1

// shuffle shuffles a list as libstdc++'s std::shuffle does.
func (t *twister) shuffle(list []int) {
	n := len(list)
	if n <= 1 {
		return
	}
	swap := func(i int, j uint32) { list[i], list[j] = list[j], list[i] }
	i := 1
	if n > pairable {
		for ; i < n; i++ {
			swap(i, t.below(uint32(i+1)))
		}
		return
	}
	if n%2 == 0 {
		swap(1, t.below(2))
		i = 2
	}
	for ; i < n; i += 2 {
		second := uint32(i + 2)
		v := t.below(uint32(i+1) * second)
		swap(i, v/second)
		swap(i+1, v%second)
	}
}
