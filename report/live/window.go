package live

import "time"

// window contains the seconds that have not ended.
type window struct {
	open []*second // starting with the second that ends next
	done int       // number of seconds before open
}

// mostOpen bounds the seconds in open, in case the clock is set forward.
const mostOpen = 600

// at returns the second that contains a time after the start.
func (w *window) at(after time.Duration) *second { return w.number(int(after / time.Second)) }

// number returns a second by its number. A finished second is replaced by the first open one.
func (w *window) number(n int) *second {
	i := min(max(n-w.done, 0), mostOpen)
	for len(w.open) <= i {
		w.open = append(w.open, new(second))
	}
	return w.open[i]
}

// close returns the second that ends next, and ends it.
func (w *window) close() *second {
	first := new(second)
	if len(w.open) > 0 {
		first, w.open = w.open[0], w.open[1:]
	}
	w.done++
	return first
}
