package http1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

func TestFewPorts(t *testing.T) {
	contract.FewPorts(t, func(refused, waited backends.Features) {
		require.Equal(t, 3, refused.Loop().LimitMax)
		require.LessOrEqual(t, waited.Loop().ConnectionsMax, 8)
	})
}
