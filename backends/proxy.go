package backends

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// ProxyNotes returns the note of a record about the proxy; without a proxy it returns nil.
func (t *Transport) ProxyNotes() []string {
	if t.Proxy == "" {
		return nil
	}
	return []string{fmt.Sprintf("requests go through the proxy %s, and its time counts as the server's", t.Proxy)}
}

// ParseProxy parses the URL of an HTTP proxy: http or https, a host and a port. It returns nil for an empty text.
func ParseProxy(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	full := text
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	switch {
	case err != nil: // the text is not shown, because it may contain a password
		return nil, errors.New("the proxy is not a URL")
	case u.User != nil:
		return nil, fmt.Errorf("the proxy %q contains a user name; remove it, because every record would show the password",
			u.Host)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the proxy %q has the unsupported scheme %q; use http or https",
			foreign.Line(text, 200), u.Scheme)
	case u.Hostname() == "" || badPort(u.Port()) || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		u.Fragment != "":
		return nil, fmt.Errorf("the proxy %q is not just a host and a port", foreign.Line(text, 200))
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}
