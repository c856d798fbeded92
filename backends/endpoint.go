package backends

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Endpoint is one server address.
type Endpoint struct {
	URL    string // scheme, host, port and an optional path prefix; no trailing slash
	APIKey string // sent as a bearer token; never logged
	// Headers are further fields of all requests, by name. The caller has checked that they are valid and set none of
	// the client's own.
	Headers map[string]string
	IDs     IDUse // ignored by protocols whose servers do not return the id
	// Model is the name that answers of this endpoint must carry; empty: the first answer decides.
	Model string
	// StreamMode is how the server's streams repeat earlier output, as a probe found it; empty: each stream is
	// examined.
	StreamMode StreamMode
}

// IDUse is how a client uses request ids at one endpoint.
type IDUse uint8

// The uses of request ids.
const (
	IDsOff      IDUse = iota // requests carry none
	IDsTried                 // requests carry one, and Outcome.Identified reports whether it came back
	IDsRequired              // requests carry one, and an answer without it is FailWrongAnswer
)

// StreamMode is what an event of a stream repeats from earlier events. SGLang's arguments set it for all streams of
// a server.
type StreamMode string

// The modes of streams.
const (
	StreamCumulative     StreamMode = "cumulative"      // all ids and all text so far
	StreamIncremental    StreamMode = "incremental"     // new ids and new text
	StreamIncrementalIDs StreamMode = "incremental_ids" // new ids and all text so far: SGLang before March 2026
)

// routes are often pasted along with the base URL. The longest comes first.
var routes = []string{"/chat/completions", "/completions", "/v1"}

// unixScheme begins the URL of a server that listens on a Unix socket. The socket's absolute path follows.
const unixScheme = "unix://"

// longestSocket is the longest path of a socket on Linux (unix(7): sun_path).
const longestSocket = 107

// Socket returns the path of the Unix socket that the server listens on; empty: it listens on a host.
func (e Endpoint) Socket() string {
	path, ok := strings.CutPrefix(e.URL, unixScheme)
	if !ok {
		return ""
	}
	return path
}

func parseSocket(full string) (Endpoint, error) {
	e := Endpoint{URL: full}
	switch path := e.Socket(); {
	case !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/"):
		return Endpoint{}, fmt.Errorf("the endpoint %q names no socket: write unix:// and its absolute path, such as "+
			"unix:///run/server.sock", foreign.Line(full, 200))
	case len(path) > longestSocket:
		return Endpoint{}, fmt.Errorf("the endpoint %q has a path of %d bytes, and that of a socket can have %d",
			foreign.Line(full, 200), len(path), longestSocket)
	}
	return e, nil
}

func badPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text != "" && (err != nil || n == 0)
}

// ParseEndpoints parses the base URLs of servers. A server that is named twice is an error, because it would count as
// two and receive twice the load of the others.
func ParseEndpoints(texts []string) ([]Endpoint, error) {
	var list []Endpoint
	seen := map[string]string{}
	for _, text := range texts {
		e, err := ParseEndpoint(text)
		if err != nil {
			return nil, err
		}
		if first, twice := seen[e.place()]; twice {
			return nil, fmt.Errorf("the endpoint %q is given twice (before as %q); name each server once",
				foreign.Line(text, 200), foreign.Line(first, 200))
		}
		seen[e.place()] = text
		list = append(list, e)
	}
	return list, nil
}

// place returns the URL with its host in a canonical spelling and the scheme's port.
func (e Endpoint) place() string {
	u, err := url.Parse(e.URL)
	if err != nil || e.Socket() != "" {
		return e.URL
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port) + u.Path
}

// ParseEndpoint parses the base URL of a server: http or https, a host and an optional path prefix; or a Unix socket.
// Without a scheme it is http.
func ParseEndpoint(text string) (Endpoint, error) {
	full := strings.TrimSpace(text)
	if strings.HasPrefix(full, unixScheme) {
		return parseSocket(full)
	}
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	full = strings.TrimRight(full, "/")
	u, err := url.Parse(full)
	if err != nil {
		// The text is not shown, because it may contain a password, and the parser's error would repeat it.
		return Endpoint{}, errors.New("an endpoint is not a URL")
	}
	switch {
	case u.Host == "" && u.Opaque == "" && u.Path == "":
		return Endpoint{}, fmt.Errorf("the endpoint %q names no host", foreign.Line(text, 200))
	case u.Scheme != "http" && u.Scheme != "https":
		return Endpoint{}, fmt.Errorf("the endpoint %q has the unsupported scheme %q; use http, https or unix",
			foreign.Line(text, 200),
			u.Scheme)
	case u.Hostname() == "":
		return Endpoint{}, fmt.Errorf("the endpoint %q names no host", foreign.Line(text, 200))
	case u.Hostname() == "http" || u.Hostname() == "https":
		return Endpoint{}, fmt.Errorf("the endpoint %q lacks the colon after its scheme", foreign.Line(text, 200))
	case badPort(u.Port()):
		return Endpoint{}, fmt.Errorf("the endpoint %q has the port %s, and ports go from 1 to 65535",
			foreign.Line(text, 200),
			u.Port())
	case u.User != nil:
		return Endpoint{}, fmt.Errorf("the endpoint for host %q contains a user name; pass keys with --api-key or "+
			"--api-key-file", u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return Endpoint{}, fmt.Errorf("the endpoint %q has a query or fragment; give the base URL, such as http://host:8000",
			foreign.Line(text, 200))
	}
	for _, route := range routes {
		full = strings.TrimSuffix(full, route)
	}
	return Endpoint{URL: full}, nil
}
