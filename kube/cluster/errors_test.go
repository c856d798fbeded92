package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

// TestExplain lists the answers of an API server with their class and remedy.
func TestExplain(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, c := range map[string]struct {
		err  error
		code exit.Code
		hint string
	}{
		"unauthorized": {apierrors.NewUnauthorized("no"), Access, "log in again"},
		"forbidden":    {apierrors.NewForbidden(pods, "x", errors.New("no")), Access, "mlperf-go kube rights"},
		"quota":        {apierrors.NewForbidden(pods, "x", errors.New("exceeded quota: cpu")), Quota, "--cpu"},
		"size":         {apierrors.NewRequestEntityTooLargeError("3 MiB"), Quota, "volume"},
		"other":        {errors.New("refused\x1b[2J"), Access, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Explain(c.err, "creating the pod %s", "x")
			var known *exit.Error
			require.True(t, errors.As(err, &known))
			require.Equal(t, c.code, known.Code)
			require.Equal(t, exit.StatusEnvironment, known.Exit)
			require.Contains(t, known.Hint, c.hint)
			require.ErrorContains(t, err, "creating the pod x")
			require.NotContains(t, err.Error(), "\x1b")
			require.ErrorIs(t, err, c.err)
		})
	}
	require.NoError(t, Explain(nil, "x"))
	require.ErrorIs(t, Explain(context.Canceled, "x"), context.Canceled)
}

func TestLastBytes(t *testing.T) {
	var b lastBytes
	for range 100 {
		n, err := b.Write([]byte(strings.Repeat("x", 77)))
		require.NoError(t, err)
		require.Equal(t, 77, n)
	}
	b.Write([]byte(strings.Repeat("y", 5000)))
	require.Equal(t, strings.Repeat("y", 2000), b.String())
}
