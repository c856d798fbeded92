package backends

// UsualFinish says whether a finish reason is one by which the servers of this field end a whole answer
// (docs/reference/wire-protocols.md#whole-answers). Another one ends it all the same, and is told of. None at all is
// nothing to tell.
func UsualFinish(reason string) bool {
	switch reason {
	case "", "stop", "length", "max_tokens", "eos_token", "stop_sequence", "tool_calls", "function_call", "repetition",
		"word":
		return true
	}
	return false
}
