package schedule

// Parameters of the 32-bit Mersenne Twister (Matsumoto and Nishimura, 1998).
const (
	mtSize  = 624
	mtShift = 397
	mtTwist = 0x9908b0df
	mtUpper = 0x80000000
	mtLower = 0x7fffffff
)

// twister is MT19937.
type twister struct {
	state [mtSize]uint32
	next  int
}

// newTwister seeds the generator with the low 32 bits of seed, as LoadGen does.
func newTwister(seed uint64) *twister {
	t := &twister{next: mtSize}
	t.state[0] = uint32(seed)
	for i := 1; i < mtSize; i++ {
		prev := t.state[i-1]
		t.state[i] = 1812433253*(prev^prev>>30) + uint32(i)
	}
	return t
}

func (t *twister) refill() {
	for i := range t.state {
		y := t.state[i]&mtUpper | t.state[(i+1)%mtSize]&mtLower
		v := t.state[(i+mtShift)%mtSize] ^ y>>1
		if y&1 != 0 {
			v ^= mtTwist
		}
		t.state[i] = v
	}
	t.next = 0
}

func (t *twister) uint32() uint32 {
	if t.next == mtSize {
		t.refill()
	}
	y := t.state[t.next]
	t.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// canonical returns a number in [0, 1) made of two outputs, low word first.
func (t *twister) canonical() float64 {
	lo := float64(t.uint32())
	hi := float64(t.uint32())
	c := (lo + hi*(1<<32)) / (1 << 64)
	if c >= 1 {
		return 1 - 1.0/(1<<53)
	}
	return c
}
