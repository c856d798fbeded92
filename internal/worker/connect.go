package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// Connect copies in to a Unix socket, and the answers to out, until the socket is closed. It waits for the socket to
// appear.
func Connect(ctx context.Context, socket string, in io.Reader, out io.Writer) error {
	c, err := dial(ctx, socket)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", socket, err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	go func() { // this goroutine ends with the process or with in
		defer crash.Catch()
		_, err := io.Copy(c, in)
		if u, ok := c.(*net.UnixConn); ok && err == nil {
			_ = u.CloseWrite() // the socket may be closed already
		}
	}()
	if _, err := io.Copy(out, c); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("reading from %s: %w", socket, err)
	}
	return context.Cause(ctx)
}

func dial(ctx context.Context, socket string) (net.Conn, error) {
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "unix", socket)
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(poll):
		}
	}
}
