package identify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Sign is one answer that only some kinds of servers send.
type Sign struct {
	Path     string   `json:"path"`
	Backends []string `json:"backends"` // the kinds that answer so, by the names of their drivers
	Says     string   `json:"says"`     // what the answer contains
}

func (s Sign) String() string { return "GET " + s.Path + " " + s.Says }

// Server is what the routes of an endpoint report about the server.
type Server struct {
	URL       string   `json:"url"`
	Backends  []string `json:"backends"`            // kinds that all signs allow
	Signs     []Sign   `json:"signs"`               // empty: nothing is shown, as behind some gateways
	Version   string   `json:"version,omitempty"`   // as reported; empty: not reported
	Simulator bool     `json:"simulator,omitempty"` // it is this program's simulator
	// References is the SHA-256 of the data set whose reference outputs the simulator returns; empty: it returns
	// other answers.
	References string `json:"references,omitempty"`
}

// Backend returns the one kind that the signs allow, or "" if they allow none or several.
func (s *Server) Backend() string {
	if len(s.Backends) != 1 {
		return ""
	}
	return s.Backends[0]
}

// Contradicts reports whether no single kind of server sends all the answers that came.
func (s *Server) Contradicts() bool { return len(s.Signs) > 0 && len(s.Backends) == 0 }

// Why returns the signs as one sentence without its full stop.
func (s *Server) Why() string {
	if len(s.Signs) == 0 {
		return "its routes do not show which kind of server it is"
	}
	texts := make([]string, len(s.Signs))
	for i, sign := range s.Signs {
		texts[i] = sign.String()
	}
	return strings.Join(texts, "; ")
}

// answerTimeout bounds one question. A route that does not answer in time is no sign.
const answerTimeout = 15 * time.Second

// question is a route that distinguishes kinds of servers (docs/reference/wire-protocols.md#telling-servers-apart).
type question struct {
	paths []string // names of the same route: the first that answers counts
	read  func(s *Server, body []byte) (kinds []string, says string)
}

var questions = []question{
	{[]string{"/v1/models"}, readOwner},
	{[]string{"/version"}, readVersion("vllm", "trtllm")},
	{[]string{"/load"}, readMember("server_load", "vllm")},
	{[]string{"/model_info", "/get_model_info"}, readMember("model_path", "sglang")},
	{[]string{"/props"}, readMember("default_generation_settings", "llamacpp")},
	{[]string{"/api/version"}, readVersion("ollama")},
}

// Ask sends all requests to an endpoint at once. Only c's settings of connections are used. If the endpoint does
// not answer the request for its list of models, the error is a *backends.EndpointError.
func Ask(ctx context.Context, c *backends.Config, e backends.Endpoint) (*Server, error) {
	found := make([]Server, len(questions))
	errs := make([]error, len(questions))
	var all sync.WaitGroup
	for i, q := range questions {
		own := *c
		if i > 0 { // one report of a slow endpoint is enough
			own.Asking = nil
		}
		all.Go(func() {
			defer crash.Catch()
			errs[i] = found[i].ask(ctx, &own, e, q)
		})
	}
	all.Wait()
	if errs[0] != nil {
		return nil, errs[0]
	}
	s := &Server{URL: e.URL, Signs: []Sign{}}
	for _, f := range found {
		s.Signs = append(s.Signs, f.Signs...)
		s.Version = cmp.Or(s.Version, f.Version)
		s.Simulator = s.Simulator || f.Simulator
	}
	s.Backends = common(s.Signs)
	if s.Simulator {
		s.askSimulator(ctx, c, e)
	}
	return s, nil
}

// All asks all endpoints of c at once, and returns the servers in the order of the endpoints.
func All(ctx context.Context, c *backends.Config) ([]*Server, error) {
	found, errs := make([]*Server, len(c.Endpoints)), make([]error, len(c.Endpoints))
	var all sync.WaitGroup
	for i, e := range c.Endpoints {
		all.Go(func() {
			defer crash.Catch()
			found[i], errs[i] = Ask(ctx, c, e)
		})
	}
	all.Wait()
	if cause := context.Cause(ctx); cause != nil { // the endpoint is not the reason
		return nil, fmt.Errorf("the endpoints were being asked what they are: %w", cause)
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// askSimulator asks the simulator which data set's answers it has.
func (s *Server) askSimulator(ctx context.Context, c *backends.Config, e backends.Endpoint) {
	own := *c
	own.Asking = nil
	r, err := nethttp.Get(ctx, &own, e, simulatorPath, answerTimeout)
	if err != nil || r.Status != http.StatusOK {
		return
	}
	var answer struct {
		References string `json:"references"`
	}
	if json.Unmarshal(r.Body, &answer) == nil && sha256Text.MatchString(answer.References) {
		s.References = answer.References
	}
}

var sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ask asks one question and returns its sign.
func (s *Server) ask(ctx context.Context, c *backends.Config, e backends.Endpoint, q question) error {
	for _, path := range q.paths {
		r, err := nethttp.Get(ctx, c, e, path, answerTimeout)
		if err != nil {
			return err
		}
		s.Simulator = s.Simulator || r.Header.Get("Server") == simulator
		if r.Status != http.StatusOK {
			continue
		}
		if kinds, says := q.read(s, r.Body); len(kinds) > 0 {
			s.Signs = append(s.Signs, Sign{path, kinds, says})
			return nil
		}
	}
	return nil
}

// simulator is the name by which this program's simulator introduces itself.
const simulator = "mlperf-go-sim"

// simulatorPath is the route where the simulator reports whose answers it has; package sim serves it.
const simulatorPath = "/mlperf-go-sim"

// common returns the kinds that every sign allows, in alphabetical order.
func common(signs []Sign) []string {
	kinds := []string{}
	for i, sign := range signs {
		if i == 0 {
			kinds = append(kinds, sign.Backends...)
		}
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return !slices.Contains(sign.Backends, k) })
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// readOwner reads who owns the served models, which each server spells in its own way.
func readOwner(_ *Server, body []byte) (kinds []string, says string) {
	var list struct {
		Data []struct {
			Owner string `json:"owned_by"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil {
		return nil, ""
	}
	for _, m := range list.Data {
		for _, name := range backends.Names() {
			d, err := backends.Lookup(name)
			if err != nil {
				continue
			}
			if owner := d.Describe().Owner; owner != "" && strings.EqualFold(owner, m.Owner) && name != simBackend {
				kinds, says = append(kinds, name), fmt.Sprintf("names the owner %q", foreign.Line(m.Owner, 40))
			}
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), says
}

// simBackend is the driver of the simulator, which shares vLLM's description.
const simBackend = "sim"

// readVersion returns a reader of an answer with a version.
func readVersion(kinds ...string) func(*Server, []byte) ([]string, string) {
	return func(s *Server, body []byte) ([]string, string) {
		var answer struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(body, &answer) != nil || answer.Version == "" {
			return nil, ""
		}
		s.Version = foreign.Line(answer.Version, 100)
		return kinds, "returns the version " + s.Version
	}
}

// readMember returns a reader of an answer that has a member.
func readMember(name string, kinds ...string) func(*Server, []byte) ([]string, string) {
	return func(_ *Server, body []byte) ([]string, string) {
		var answer map[string]json.RawMessage
		if json.Unmarshal(body, &answer) != nil || answer[name] == nil {
			return nil, ""
		}
		return kinds, "returns " + name
	}
}
