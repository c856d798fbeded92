package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/httpstream"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// The classes of errors of the launcher, the values of error.code (docs/reference/kube.md#errors).
const (
	Access     exit.Code = "cluster_access" // no cluster, or not the rights
	Quota      exit.Code = "cluster_quota"  // the cluster refuses the object
	Scheduling exit.Code = "scheduling"     // no volume, no node
	Launcher   exit.Code = "launcher"       // a pod could not start or was lost
	Timeout    exit.Code = "timeout"
	Collection exit.Code = "collection" // the results are still in the cluster
)

// Explain returns err as an error with exit code 3 and what to do. It returns nil for nil.
func Explain(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	doing := fmt.Sprintf(format, args...)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	for _, r := range remedies {
		if r.matches(err) {
			return exit.Environment(r.code, r.hint, "%s: %w", doing, plain{err})
		}
	}
	return exit.Environment(Access, "", "%s: %w", doing, plain{err})
}

// plain is an error whose text may come from a server and be shown in a terminal.
type plain struct{ error }

func (p plain) Error() string { return foreign.Line(p.error.Error(), 800) }
func (p plain) Unwrap() error { return p.error }

var remedies = []struct {
	matches func(error) bool
	code    exit.Code
	hint    string
}{
	{apierrors.IsUnauthorized, Access, "The cluster does not accept the credentials: log in again, or name another " +
		"kubeconfig with --kubeconfig"},
	{isQuota, Quota, "Ask for a larger quota of the namespace, or lower --cpu and --memory"},
	{isEnding, Launcher, "Wait until the namespace is gone, or name another one"},
	{apierrors.IsForbidden, Access, "Ask an administrator for the right that the message names; " +
		"`mlperf-go kube rights` prints all that the launcher needs"},
	{apierrors.IsRequestEntityTooLargeError, Quota, "Put large files on the volume instead of into the profile"},
	{apierrors.IsInvalid, Quota, "Change the setting that the message names"},
}

func isQuota(err error) bool {
	return apierrors.IsForbidden(err) && bytes.Contains([]byte(err.Error()), []byte("exceeded quota"))
}

func isEnding(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }

func isGone(err error) bool { return apierrors.IsNotFound(err) }

func isUpgradeFailure(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}

// lastBytes keeps the last bytes that were written to it.
type lastBytes struct{ bytes.Buffer }

func (b *lastBytes) Write(p []byte) (int, error) {
	const most = 2000
	if n := b.Len() + len(p) - most; n > 0 {
		b.Next(n)
	}
	b.Buffer.Write(p[max(0, len(p)-most):])
	return len(p), nil
}
