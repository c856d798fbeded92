package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/models"
)

// Server is a simulated inference server. It serves one listener, once.
type Server struct {
	llm
	pages
	profiler profiler
	cfg      Config

	used   atomic.Bool
	engine *engine
	work   sync.WaitGroup // connections
	mu     sync.Mutex
	conns  map[*conn]struct{}
}

// New makes a server. An error names the wrong setting.
func New(cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	plays, err := findDialect(cfg.Dialect)
	if err != nil {
		return nil, err
	}
	if cfg.Tokenizer == nil {
		row := cfg.Row
		if row == nil {
			row = &models.Row{}
		}
		cfg.Tokenizer = synthTokens{datasets.SynthTokensOf(row)}
	}
	s := &Server{cfg: cfg, conns: map[*conn]struct{}{}}
	s.llm = llm{&s.cfg, newLibrary(&cfg), newSpeller(cfg.Tokenizer, cfg.Vocabulary, cfg.EOS)}
	s.pages = pages{cfg: &s.cfg, dialect: plays, meters: newMeters()}
	if cfg.PrefixCache {
		s.prefixes = newPrefixCache(cfg.kvTokens())
	}
	return s, nil
}

// Serve answers the connections of ln until ctx ends, then closes them all and returns nil. It returns an error if the
// listener fails, and ErrDied after the fault "die" without Config.OnDie. All its goroutines have ended by then.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if s.used.Swap(true) {
		return errServedTwice
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	onDie := func() {
		if s.cfg.OnDie != nil {
			go func() {
				defer crash.Catch()
				s.cfg.OnDie()
			}()
			return
		}
		stop(ErrDied)
	}
	var err error
	if s.engine, err = newEngine(&s.cfg, s.meters, onDie); err != nil {
		return errors.Join(err, ln.Close())
	}
	engineEnded := make(chan struct{})
	go func() {
		defer crash.Catch()
		defer close(engineEnded)
		s.engine.run()
	}()
	stopped := context.AfterFunc(ctx, func() { _ = ln.Close() }) // Accept reports it
	err = s.takeConns(ctx, ln)
	stopped()
	_ = ln.Close() // already closed if ctx ended
	s.closeAll(errors.Is(context.Cause(ctx), ErrDied))
	s.work.Wait()
	s.engine.halt()
	<-engineEnded
	if cerr := s.engine.pace.close(); err == nil {
		err = cerr
	}
	if errors.Is(context.Cause(ctx), ErrDied) {
		return ErrDied
	}
	return err
}

// takeConns accepts connections until the listener ends.
func (s *Server) takeConns(ctx context.Context, ln net.Listener) error {
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			s.add(newConn(s, nc))
		case ctx.Err() != nil:
			return nil
		case isTemporary(err): // out of file descriptors: connections that end free some
			time.Sleep(5 * time.Millisecond)
		default:
			return fmt.Errorf("accepting connections on %s: %w; start the simulator again", ln.Addr(), err)
		}
	}
}

func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func (s *Server) add(c *conn) {
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	s.work.Go(func() {
		defer crash.Catch()
		c.serve()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	})
}

// closeAll closes every connection, with RST if the server dies.
func (s *Server) closeAll(dying bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if dying {
			c.after(reset)
		} else {
			c.close()
		}
	}
}
