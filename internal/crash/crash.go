package crash

import (
	"runtime/debug"
	"sync/atomic"
)

// Handler ends the program. It receives the panic's value and the stack of the panicking goroutine, and must not
// return.
type Handler func(value any, stack []byte)

var handler atomic.Pointer[Handler]

// Handle sets the handler. Call it once, when the program starts.
func Handle(h Handler) { handler.Store(&h) }

// Catch passes a panic to the handler. Defer it first in each goroutine.
func Catch() {
	h := handler.Load()
	if h == nil {
		return // the panic continues
	}
	if v := recover(); v != nil {
		(*h)(v, debug.Stack())
	}
}
