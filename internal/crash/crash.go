package crash

import (
	"runtime/debug"
	"sync/atomic"
)

// Handler ends the program. It gets the panic's value and the stack of its goroutine, and must not return.
type Handler func(value any, stack []byte)

var handler atomic.Pointer[Handler]

// Handle sets who is told. Once, when the program starts.
func Handle(h Handler) { handler.Store(&h) }

// Catch stands first among a goroutine's deferred calls.
func Catch() {
	h := handler.Load()
	if h == nil {
		return // and the panic goes on
	}
	if v := recover(); v != nil {
		(*h)(v, debug.Stack())
	}
}
