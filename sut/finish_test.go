package sut

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUsualFinish(t *testing.T) {
	for reason, usual := range map[string]bool{"stop": true, "length": true, "tool_calls": true, "repetition": true,
		"eos_token": true, "": true, "word": true, "budget": false, "eos": false, "STOP": false} {
		require.Equal(t, usual, usualFinish(reason), reason)
	}
}
