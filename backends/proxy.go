package backends

import (
	"errors"
	"fmt"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"net/url"
	"strings"
)

// ParseProxy reads the URL of an HTTP proxy: http or https, and a host. Empty gives nil: there is none.
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
	case err != nil: // the text is not shown: it may hold a password
		return nil, errors.New("the proxy is no URL")
	case u.User != nil:
		return nil, fmt.Errorf("the proxy %q carries a user name, and a password would stand in every record", u.Host)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the proxy %q has the scheme %q; http and https are known", foreign.Line(text, 200), u.Scheme)
	case u.Hostname() == "" || badPort(u.Port()) || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		u.Fragment != "":
		return nil, fmt.Errorf("the proxy %q is more or less than a host and a port", foreign.Line(text, 200))
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}
