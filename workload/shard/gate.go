package shard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/report/live"
)

// Gate is a shard's end of the connection to its coordinator.
type Gate struct {
	listener net.Listener
	socket   string
	progress func() Progress
	stop     func()
	wait     sync.WaitGroup
	reported chan struct{} // closed after the last report
	counter  atomic.Pointer[live.Counter]

	mu     sync.Mutex
	link   *link         // to the present coordinator
	conn   net.Conn      // of link
	ready  int           // stage that waits; -1: none
	starts chan startAt  // of the stage that waits
	closed chan struct{} // by Close
}

type startAt struct {
	stage int
	at    int64
}

// Listen makes the socket and waits for a coordinator in the background. progress returns what the shard has done so
// far; nil: it is not reported. stop ends the run when the coordinator asks for that; it may be called several times.
func Listen(socket string, progress func() Progress, stop func()) (*Gate, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the control socket of an earlier run: %w", err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("making the control socket: %w", err)
	}
	// Other processes of the pod may run as another user, who then cannot reach the socket otherwise.
	if err := os.Chmod(socket, 0o660); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	g := &Gate{listener: l, socket: socket, progress: progress, stop: stop, ready: -1, starts: make(chan startAt),
		closed: make(chan struct{}), reported: make(chan struct{})}
	g.wait.Go(g.accept)
	g.wait.Go(g.report)
	return g, nil
}

// farewell is how long the last report may take.
const farewell = 2 * time.Second

// Close sends the last report and ends the connection.
func (g *Gate) Close() error {
	g.mu.Lock()
	if g.conn != nil {
		_ = g.conn.SetWriteDeadline(time.Now().Add(farewell)) // of a coordinator that does not read
	}
	g.mu.Unlock()
	close(g.closed)
	<-g.reported
	err := g.listener.Close()
	g.mu.Lock()
	if g.conn != nil {
		g.conn.Close()
	}
	g.mu.Unlock()
	g.wait.Wait()
	return err
}

// accept serves one coordinator at a time, because a broken connection may be made anew.
func (g *Gate) accept() {
	defer crash.Catch()
	for {
		c, err := g.listener.Accept()
		if err != nil {
			return // Close
		}
		g.mu.Lock()
		if g.conn != nil {
			g.conn.Close() // a newer coordinator takes over
		}
		g.conn, g.link = c, newLink(c, c)
		l := g.link
		g.announce()
		g.mu.Unlock()
		g.wait.Go(func() {
			defer crash.Catch()
			g.serve(l)
		})
	}
}

// announce reports to the coordinator which stage waits, if one does.
func (g *Gate) announce() {
	if g.link != nil && g.ready >= 0 {
		stage := g.ready
		_ = g.link.send(&message{Ready: &stage}) // a broken connection is noticed by its reader
	}
}

func (g *Gate) serve(l *link) {
	for {
		m, err := l.receive()
		if err != nil {
			return
		}
		switch {
		case m.Clock != nil:
			m.Clock.NowNS = time.Now().UnixNano()
			_ = l.send(m)
		case m.Stop != nil:
			g.stop()
		case m.Start != nil:
			if m.Start.Count {
				g.counter.CompareAndSwap(nil, live.NewCounter(m.Start.AtNS))
			}
			select {
			case g.starts <- startAt{m.Start.Stage, m.Start.AtNS}:
			case <-g.closed:
				return
			}
		}
	}
}

// Wait reports that a stage is prepared and returns its start in ns of this machine's wall clock.
func (g *Gate) Wait(ctx context.Context, stage int) (int64, error) {
	g.mu.Lock()
	g.ready = stage
	g.announce()
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.ready = -1
		g.mu.Unlock()
	}()
	for {
		select {
		case s := <-g.starts:
			if s.stage == stage {
				return s.at, nil
			}
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-g.closed:
			return 0, errors.New("the control socket was closed")
		}
	}
}
