package discover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/identify"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// generic is the backend for servers that do not show what they are; simulator is that of a rehearsal.
const (
	generic   = "openai"
	simulator = "sim"
)

// Backend detects the kind of server at every endpoint of a plan, and sets the plan's backend if the user has not.
// It returns an error if the servers contradict the user, themselves or each other. Without an endpoint it sends
// nothing. asking is called before the first request to each endpoint; nil: not called.
func Backend(ctx context.Context, p *plan.Plan, asking func(request string, longest time.Duration)) (
	*record.BackendChoice, error) {
	name, from := p.Config.String("backend"), p.Config.Origin("backend")
	choice := &record.BackendChoice{Backend: name, Auto: name == config.Auto, Why: "set by " + from.String()}
	if !p.HasEndpoint() || p.Config.Origin("endpoint") == plan.SimulatorOrigin {
		return choice, nil
	}
	if !choice.Auto {
		d, err := backends.Lookup(name)
		if err != nil {
			return nil, exit.Usage(exit.CodeBackend, "", "%w", err)
		}
		if name == simulator || d.Describe().Server == "" && name != generic { // it may not even speak HTTP
			return choice, nil
		}
	}
	c, err := p.Reach()
	if err != nil {
		return nil, err
	}
	c.Asking = asking
	found, err := identify.All(ctx, c)
	var silent *backends.EndpointError
	switch {
	case errors.As(err, &silent) && !choice.Auto: // the preflight reports it in the terms of the backend
		return choice, nil
	case err != nil:
		return nil, err
	}
	for i, s := range found {
		p.Simulated = p.Simulated || s.Simulator
		if i == 0 {
			p.References = s.References
		} else if s.References != p.References { // only some servers know the answers
			p.References = ""
		}
		choice.Servers = append(choice.Servers, shown(s))
	}
	if !choice.Auto {
		return choice, agree(choice, found)
	}
	if err := decide(choice, found); err != nil {
		return nil, err
	}
	return choice, p.Suggest(plan.ProgramOrigin("chosen: "+choice.Why), "backend", choice.Backend)
}

// shown is a server as the record has it.
func shown(s *identify.Server) record.ShownServer {
	r := record.ShownServer{URL: s.URL, Backends: s.Backends, Signs: []string{}, Version: s.Version,
		Simulator: s.Simulator}
	for _, sign := range s.Signs {
		r.Signs = append(r.Signs, sign.String())
	}
	return r
}

// agree rejects a backend of the user's that is not the server's. A backend for several kinds of servers fits any.
func agree(choice *record.BackendChoice, found []*identify.Server) error {
	if choice.Backend == generic {
		return nil
	}
	for _, s := range found {
		if len(s.Backends) > 0 && !slices.Contains(s.Backends, choice.Backend) {
			return exit.Environment(exit.CodeWrongBackend, "Use --backend "+strings.Join(s.Backends, " or ")+
				", or leave --backend out",
				"the server at %s is %s, and --backend is %s: %s", s.URL, either(s.Backends), choice.Backend, s.Why())
		}
		if s.Contradicts() {
			choice.Notes = append(choice.Notes, fmt.Sprintf("%s sends answers that no single kind of server sends: %s", s.URL,
				s.Why()))
		}
	}
	return nil
}

// decide chooses the backend that all servers show.
func decide(choice *record.BackendChoice, found []*identify.Server) error {
	known := map[string]string{} // an endpoint that shows the backend, by backend
	var hidden []*identify.Server
	for _, s := range found {
		switch name := s.Backend(); {
		case s.Contradicts():
			return exit.Environment(exit.CodeBackendUnclear, "Name the kind with --backend: "+strings.Join(candidates(s),
				" or "), "the kind of server at %s is unclear, because its answers contradict each other: %s", s.URL, s.Why())
		case name == "":
			hidden = append(hidden, s)
		case known[name] == "":
			known[name] = s.URL
		}
	}
	switch {
	case len(known) > 1:
		var texts []string
		for _, s := range found {
			texts = append(texts, s.URL+" is "+either(s.Backends))
		}
		return exit.Environment(exit.CodeBackendMixed,
			"Give endpoints of one kind, or --backend openai for what they have in "+
				"common",
			"the endpoints are of several kinds, and a run supports one: %s", strings.Join(texts, "; "))
	case len(hidden) > 0:
		choice.Backend = generic
		choice.Why = hidden[0].URL + " is treated as OpenAI-compatible: " + hidden[0].Why()
		if len(hidden[0].Backends) > 1 {
			choice.Why += ", so that it may be " + either(hidden[0].Backends)
		}
		choice.Notes = append(choice.Notes, choice.Why+". If it is another server behind a gateway, name it with --backend")
	default:
		for name := range known {
			choice.Backend = name
		}
		choice.Why = found[0].Why()
	}
	return nil
}

// candidates returns every kind to which a sign of the server points.
func candidates(s *identify.Server) []string {
	var all []string
	for _, sign := range s.Signs {
		all = append(all, sign.Backends...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// either names kinds of servers.
func either(names []string) string {
	if len(names) == 0 {
		return "of an unknown kind"
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = name
		if d, err := backends.Lookup(name); err == nil && d.Describe().Server != "" {
			texts[i] = d.Describe().Server
		}
	}
	return strings.Join(texts, " or ")
}
