package policy

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/dial"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// Endpoint is one route of one server.
type Endpoint struct {
	URL  *url.URL // as package dial reads it
	Host string   // of the header
	name string   // for messages
	key  string   // must not appear in a message
	more map[string]string
}

// NewEndpoint joins a server's base URL with a path.
func NewEndpoint(e backends.Endpoint, path string) (Endpoint, error) {
	base, err := backends.ParseEndpoint(e.URL)
	if err != nil {
		return Endpoint{}, err
	}
	if socket := base.Socket(); socket != "" {
		e := Endpoint{URL: dial.Socket(socket, path), Host: "localhost", name: base.URL + " " + path, key: e.APIKey,
			more: e.Headers}
		return e, e.checkKey(base.URL)
	}
	u, err := url.Parse(base.URL + path)
	if err != nil {
		return Endpoint{}, fmt.Errorf("the endpoint %q with the path %q is not a URL: %w", base.URL, path, err)
	}
	known := Endpoint{URL: u, Host: u.Host, name: u.String(), key: e.APIKey, more: e.Headers}
	return known, known.checkKey(base.URL)
}

func (e *Endpoint) checkKey(url string) error {
	if !utf8.ValidString(e.key) || strings.ContainsFunc(e.key, unicode.IsControl) {
		return fmt.Errorf("the API key for %q contains a line break, another control character or bytes that are not text: "+
			"pass the key alone", url)
	}
	return nil
}

// String returns the endpoint's URL for messages.
func (e *Endpoint) String() string { return e.name }

// Field is one field of a request's header.
type Field struct{ Name, Value string }

// Fields returns the header fields of all requests except Host and Content-Length.
func (e *Endpoint) Fields() []Field {
	fields := []Field{{"Content-Type", "application/json"}, {"Accept-Encoding", "identity"}, {"User-Agent", "mlperf-go"}}
	if e.key != "" {
		fields = append(fields, Field{"Authorization", "Bearer " + e.key})
	}
	for _, name := range slices.Sorted(maps.Keys(e.more)) {
		fields = append(fields, Field{name, e.more[name]})
	}
	return fields
}

// RequestID returns the place of the id in the requests to an endpoint; the zero value: they have no id.
func RequestID(e *backends.Endpoint, p wire.Protocol) wire.RequestIDField {
	if e.IDs == backends.IDsOff {
		return wire.RequestIDField{}
	}
	return p.RequestID
}

// leastOfKey is the shortest beginning of a key, in bytes, that is removed from the end of a text.
const leastOfKey = 4

// Redact removes the API key, in any case, from a text, and its beginning from the end of a text that was cut there.
func (e *Endpoint) Redact(text []byte) []byte {
	if e.key == "" {
		return text
	}
	rest, clean := string(text), make([]byte, 0, len(text))
	for i := secret.Index(rest, e.key); i >= 0; i = secret.Index(rest, e.key) {
		clean = append(append(clean, rest[:i]...), "[key]"...)
		rest = rest[i+len(e.key):]
	}
	whole := strings.TrimSuffix(rest, "...") // what package foreign leaves of a long text
	for n := min(len(e.key)-1, len(whole)); n >= leastOfKey; n-- {
		if before := whole[:len(whole)-n]; secret.Index(whole[len(before):], e.key[:n]) == 0 {
			return append(append(clean, before...), "[key]"...)
		}
	}
	return append(clean, rest...)
}

// Record returns a failed attempt for the record, without the API key, which the server may have sent back.
func (e *Endpoint) Record(q loadgen.Query, endpoint int, f *Failure, body []byte, retried bool,
	atNS int64) backends.Attempt {
	return backends.Attempt{
		Query: q, Endpoint: endpoint, Reason: f.Reason,
		Detail: string(e.Redact(fmt.Appendf(nil, "POST %s: %s", e, f.Detail))),
		Body:   bytes.Clone(e.Redact(body)), Retried: retried, AtNS: atNS,
	}
}

// Homeless returns the record of a query that was not sent because all endpoints were excluded.
func Homeless(q loadgen.Query, atNS int64) backends.Attempt {
	return backends.Attempt{
		Query: q, Endpoint: balance.Nowhere, Reason: backends.FailNoEndpoint, AtNS: atNS,
		Detail: "not sent: all endpoints were excluded after failed attempts, and none accepted a connection within " +
			"--endpoint-timeout",
	}
}
