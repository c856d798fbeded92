package sim

import (
	"encoding/json"
	"net/http"
	"os"
	"sync"
)

// profiler plays the profiler of a server: it notes which requests arrive between start and stop.
type profiler struct {
	mu      sync.Mutex
	on      bool
	options json.RawMessage // that started it
	rows    []int           // of the data set, by request; -1: a prompt of no row
}

// profiled is one line of Config.ProfileLog.
type profiled struct {
	Rows    []int           `json:"rows"`
	Options json.RawMessage `json:"options,omitempty"`
}

func (p *profiler) note(prompts []prompt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range prompts {
		if p.on {
			p.rows = append(p.rows, int(prompts[i].row))
		}
	}
}

// startProfile answers as vLLM does: without a profiler the route does not exist.
func (s *Server) startProfile(c *conn, req *http.Request, body []byte, _ int64) after {
	if s.cfg.ProfileLog == "" {
		return c.detail(req, http.StatusNotFound)
	}
	s.profiler.mu.Lock()
	s.profiler.on, s.profiler.rows, s.profiler.options = true, []int{}, nil
	if json.Valid(body) {
		s.profiler.options = append(json.RawMessage(nil), body...)
	}
	s.profiler.mu.Unlock()
	return c.reply(http.StatusOK, nil, nil)
}

// stopProfile appends the requests since startProfile to the log.
func (s *Server) stopProfile(c *conn, req *http.Request, _ []byte, _ int64) after {
	if s.cfg.ProfileLog == "" {
		return c.detail(req, http.StatusNotFound)
	}
	p := &s.profiler
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.on {
		line, _ := json.Marshal(profiled{p.rows, p.options}) // numbers, and JSON that was checked
		f, err := os.OpenFile(s.cfg.ProfileLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.Write(append(line, '\n'))
			_ = f.Close()
		}
		if err != nil {
			return c.reply(http.StatusInternalServerError, nil, nil)
		}
	}
	p.on = false
	return c.reply(http.StatusOK, nil, nil)
}
