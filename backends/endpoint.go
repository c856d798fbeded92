package backends

import (
	"fmt"
	"net/url"
	"strings"
)

// ParseEndpoint reads a server's base URL: http or https, a host, and perhaps a path prefix. A missing scheme means http.
func ParseEndpoint(text string) (Endpoint, error) {
	full := strings.TrimRight(strings.TrimSpace(text), "/")
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil {
		return Endpoint{}, fmt.Errorf("the endpoint %q is no URL: %w", Cut(text, 200), err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return Endpoint{}, fmt.Errorf("the endpoint %q has the scheme %q; http and https are known", Cut(text, 200), u.Scheme)
	case u.Hostname() == "":
		return Endpoint{}, fmt.Errorf("the endpoint %q names no host", Cut(text, 200))
	case u.User != nil:
		return Endpoint{}, fmt.Errorf("the endpoint for host %q carries a user name; keys are given with --api-key or --api-key-file", u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return Endpoint{}, fmt.Errorf("the endpoint %q has a query or fragment; give the base URL, such as http://host:8000", Cut(text, 200))
	}
	// People paste the API's own address.
	full = strings.TrimSuffix(strings.TrimSuffix(full, "/completions"), "/v1")
	return Endpoint{URL: full}, nil
}
