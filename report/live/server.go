package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Bounds of the server.
const (
	maxViewers    = 32
	headerTimeout = 5 * time.Second
	writeTimeout  = 10 * time.Second // for one event; a viewer that does not read is dropped and may come back
	aliveEvery    = 15 * time.Second // a comment keeps a silent connection open
	farewell      = 2 * time.Second  // for viewers to receive the verdict
	maxHeader     = 16 << 10         // bytes
)

// Options of a server.
type Options struct {
	// Address is host:port, without a host on loopback, without a port any free one; or unix:PATH, a socket.
	Address  string
	Title    string
	What     string // runs: "test" if empty
	Next     string // what to do after its end, one sentence
	Folder   string // of the test
	NoClient bool   // no requests are sent: the page has only the servers' charts
	// Limits are drawn from the beginning. Without them, those of the test are drawn once it reports them.
	Limits []record.Tail
	Stop   func() // stops it; nil: the page has no button
}

// Server serves the page of one test.
type Server struct {
	*feed
	options Options
	host    string // the name in Options.Address, in lower case; empty: an address
	address string // where it listens
	token   string
	http    *http.Server
	viewers atomic.Int32
}

// Start listens and serves the page until Finish or End. A *net.AddrError is within the error if the address is
// malformed.
func Start(o Options) (*Server, error) {
	s := &Server{feed: newFeed(&o), options: o}
	s.page.Control = o.Stop != nil
	l, err := s.listen()
	if err != nil {
		return nil, err
	}
	s.token = rand.Text()
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader}
	go func() {
		defer crash.Catch()
		_ = s.http.Serve(l) // it ends with Shutdown
	}()
	return s, nil
}

// Stopped is the cause of a context that ends because a viewer stops what runs.
var Stopped = exit.Interrupt{Signal: syscall.SIGINT, By: "a viewer of the live page"}

// Open starts the page of --live and classifies its errors. With control its viewers can stop what runs: then the
// returned context ends with Stopped.
func Open(ctx context.Context, o Options, control bool) (context.Context, *Server, error) {
	if control {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		o.Stop = func() { cancel(Stopped) }
	}
	s, err := Start(o)
	if err != nil {
		return nil, nil, exit.NotServed(err, "the live page", "live", o.Address, "127.0.0.1:8090")
	}
	return ctx, s, nil
}

// listen opens the socket of Options.Address.
func (s *Server) listen() (net.Listener, error) {
	if path, ok := strings.CutPrefix(s.options.Address, "unix:"); ok {
		s.address = s.options.Address
		return net.Listen("unix", path)
	}
	host, port, err := net.SplitHostPort(s.options.Address)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "127.0.0.1"
	} else if _, err := netip.ParseAddr(host); err != nil {
		s.host = strings.ToLower(host)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	s.address = l.Addr().String()
	if s.host != "" {
		_, port, _ = net.SplitHostPort(s.address)
		s.address = net.JoinHostPort(s.host, port)
	}
	return l, nil
}

// URL returns the address of the page. If the test can be stopped there, it contains the token for it.
func (s *Server) URL() string {
	if strings.HasPrefix(s.address, "unix:") {
		return s.address
	}
	u := "http://" + s.address + "/"
	if s.options.Stop != nil {
		u += "#token=" + s.token
	}
	return u
}

// close ends the server once its viewers have received everything.
func (s *Server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /events", s.serveEvents)
	mux.HandleFunc("POST /stop", s.serveStop)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", report.LivePolicy())
		if !s.isOwnHost(r.Host) {
			http.Error(w, "Open this page by its address, by localhost, or by the name given to --live.", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isOwnHost accepts addresses, localhost and the name that the server was given. Any other name may belong to a site
// that lets it point here (DNS rebinding).
func (s *Server) isOwnHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || s.host != "" && host == s.host
}

func (s *Server) servePage(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	page := s.snapshot()
	if err := report.WriteLive(&b, page); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	_, _ = w.Write(b.Bytes())
}

// serveEvents sends what a viewer has missed, then each event as it comes, until the test or the viewer ends.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	if s.viewers.Add(1) > maxViewers {
		s.viewers.Add(-1)
		http.Error(w, fmt.Sprintf("%d viewers are the most", maxViewers), http.StatusServiceUnavailable)
		return
	}
	defer s.viewers.Add(-1)
	after := r.FormValue("after")
	test := r.FormValue("run")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		test, after, _ = strings.Cut(last, ":")
	}
	w.Header().Set("Content-Type", "text/event-stream")
	at := s.cursor(test, after)
	for {
		events, changed, ended := s.since(&at)
		if len(events) == 0 && !ended {
			events = []byte(":\n\n")
		}
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(events); err != nil || control.Flush() != nil || ended {
			return
		}
		select {
		case <-changed:
		case <-time.After(aliveEvery):
		case <-r.Context().Done():
			return
		}
	}
}

// serveStop stops the test. The token is in a header, which no form of another site can set.
func (s *Server) serveStop(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.options.Stop == nil:
		http.Error(w, "this page cannot stop anything: start the program with --live-control", http.StatusForbidden)
	case r.Header.Get("Origin") != "http://"+r.Host:
		http.Error(w, "the request comes from another page", http.StatusForbidden)
	case subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Live-Token")), []byte(s.token)) != 1:
		http.Error(w, "the token is wrong: open the address that the program printed", http.StatusForbidden)
	default:
		s.options.Stop()
		w.WriteHeader(http.StatusNoContent)
	}
}
