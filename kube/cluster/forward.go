package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// Forward opens a port of this machine's loopback that leads through the API server to a port of a pod. It returns the
// port's URL; stop closes it.
func (c *Cluster) Forward(ctx context.Context, namespace, pod string, port int) (url string, stop func(), err error) {
	defer func() { err = Explain(err, "forwarding a port to the pod %s", pod) }()
	to := c.Client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).
		SubResource("portforward").URL()
	websocket, err := portforward.NewSPDYOverWebsocketDialer(to, c.config)
	if err != nil {
		return "", nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return "", nil, err
	}
	dialer := portforward.NewFallbackDialer(websocket,
		spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", to), isUpgradeFailure)
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	f, err := portforward.New(dialer, []string{fmt.Sprintf("0:%d", port)}, ctx.Done(), ready, io.Discard, io.Discard)
	if err != nil {
		cancel()
		return "", nil, err
	}
	go func() {
		defer crash.Catch()
		ended <- f.ForwardPorts()
	}()
	select {
	case err = <-ended:
	case <-ready:
		var ports []portforward.ForwardedPort
		if ports, err = f.GetPorts(); err == nil {
			return fmt.Sprintf("http://localhost:%d", ports[0].Local), cancel, nil
		}
	}
	cancel()
	return "", nil, err
}
