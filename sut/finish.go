package sut

// usualFinish reports whether inference servers use the finish reason for complete answers
// (docs/reference/wire-protocols.md#whole-answers). A missing reason counts as usual.
func usualFinish(reason string) bool {
	switch reason {
	case "", "stop", "length", "max_tokens", "eos_token", "stop_sequence", "tool_calls", "function_call", "repetition",
		"word":
		return true
	}
	return false
}
