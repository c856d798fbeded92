package probe

import "math/rand/v2"

// Order is an endless sequence of samples: a random order that begins again at its end. Each probe continues where
// the last one ended, so that its prompts are not in a prefix cache.
type Order struct {
	samples []int
	next    int
}

// NewOrder returns the order of a number of samples for a seed, from the given position on.
func NewOrder(seed uint64, samples, position int) *Order {
	return &Order{samples: rand.New(rand.NewPCG(seed, 0)).Perm(samples), next: position % max(samples, 1)}
}

// Next returns the next n samples.
func (o *Order) Next(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = o.samples[o.next]
		o.next = (o.next + 1) % len(o.samples)
	}
	return list
}
