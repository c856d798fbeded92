package backends

import (
	"fmt"
	"net/url"
	"strings"
)

// routes are what people paste along with the base URL, longest first.
var routes = []string{"/chat/completions", "/completions", "/v1"}

// ParseEndpoint reads a server's base URL: http or https, a host, and perhaps a path prefix. A missing scheme means http.
func ParseEndpoint(text string) (Endpoint, error) {
	full := strings.TrimSpace(text)
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	full = strings.TrimRight(full, "/")
	u, err := url.Parse(full)
	if err != nil {
		// The text is not shown: it may hold a password, and the parser's error would repeat it.
		return Endpoint{}, fmt.Errorf("an endpoint is no URL; write it as http://host:port")
	}
	switch {
	case u.Host == "" && u.Opaque == "" && u.Path == "":
		return Endpoint{}, fmt.Errorf("the endpoint %q names no host", Cut(text, 200))
	case u.Scheme != "http" && u.Scheme != "https":
		return Endpoint{}, fmt.Errorf("the endpoint %q has the scheme %q; http and https are known", Cut(text, 200), u.Scheme)
	case u.Hostname() == "":
		return Endpoint{}, fmt.Errorf("the endpoint %q names no host", Cut(text, 200))
	case u.User != nil:
		return Endpoint{}, fmt.Errorf("the endpoint for host %q carries a user name; keys are given with --api-key or --api-key-file", u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return Endpoint{}, fmt.Errorf("the endpoint %q has a query or fragment; give the base URL, such as http://host:8000", Cut(text, 200))
	}
	for _, route := range routes {
		full = strings.TrimSuffix(full, route)
	}
	return Endpoint{URL: full}, nil
}
