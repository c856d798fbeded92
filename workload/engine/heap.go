package engine

// heap is a priority queue of values, without the interface of container/heap: that allocates for each int64.
type heap[T any] struct {
	list   []T
	before func(a, b T) bool
}

func (h *heap[T]) len() int { return len(h.list) }

func (h *heap[T]) first() T { return h.list[0] }

func (h *heap[T]) push(v T) {
	h.list = append(h.list, v)
	for i := len(h.list) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.before(h.list[i], h.list[up]) {
			return
		}
		h.list[i], h.list[up] = h.list[up], h.list[i]
		i = up
	}
}

func (h *heap[T]) pop() T {
	v, last := h.list[0], len(h.list)-1
	var none T
	h.list[0], h.list[last] = h.list[last], none
	h.list = h.list[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if h.before(h.list[c], h.list[least]) {
				least = c
			}
		}
		if least == i {
			return v
		}
		h.list[i], h.list[least] = h.list[least], h.list[i]
		i = least
	}
}
