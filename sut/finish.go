package sut

// usualFinish reports whether a finish reason is one by which inference servers end a whole answer
// (docs/reference/wire-protocols.md#whole-answers). A missing one is usual too.
func usualFinish(reason string) bool {
	switch reason {
	case "", "stop", "length", "max_tokens", "eos_token", "stop_sequence", "tool_calls", "function_call", "repetition",
		"word":
		return true
	}
	return false
}
