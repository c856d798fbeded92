package secret

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

const (
	shortest = 4 // minimum length in bytes; shorter values are not hidden, because they occur in ordinary text
	distinct = 8 // length in bytes; a shorter value is hidden only if no letter or digit adjoins it
)

// Redactor removes known secrets from text. It compares ASCII letters without regard to case, because servers and
// gateways change the case of what they repeat. Its methods may be called from any goroutine. A nil Redactor has no
// secrets.
type Redactor struct {
	mu     sync.RWMutex
	values []string // secret values, longest first, so that no value hides a part of another
}

// Add registers secret values. Each line of a multi-line value is a secret of its own.
func (r *Redactor) Add(values ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, value := range values {
		for _, line := range strings.Split(value, "\n") {
			line = strings.TrimSpace(line)
			if len(line) < shortest || IsSwitch(line) && len(line) < distinct {
				continue
			}
			for _, form := range forms(line) {
				if !slices.Contains(r.values, form) {
					r.values = append(r.values, form)
				}
			}
		}
	}
	ordering.Sort(r.values, func(a, b string) int { return len(b) - len(a) })
}

// forms returns the spellings of a value: plain, in JSON, in a URL.
func forms(value string) []string {
	quoted, _ := json.Marshal(value) // encoding a string cannot fail
	return []string{value, string(quoted[1 : len(quoted)-1]), url.QueryEscape(value), url.PathEscape(value)}
}

// AddEnviron registers the values of variables with secret names, and user names in URLs. It ignores paths.
func (r *Redactor) AddEnviron(environ []string) {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if Name(name) && !strings.HasPrefix(value, "/") {
			r.Add(value)
		}
		r.addUser(value)
	}
}

func (r *Redactor) addUser(value string) {
	if u, err := url.Parse(value); err == nil && u.User != nil {
		if password, has := u.User.Password(); has {
			r.Add(password)
		}
	}
}

// AddArgs registers the values of secret arguments.
func (r *Redactor) AddArgs(line []string) {
	_, values := args(line)
	r.Add(values...)
	for _, w := range line {
		r.addUser(w)
	}
}

// AddText registers the values that follow names of secrets in a text.
func (r *Redactor) AddText(text string) {
	_, values := named(text)
	r.Add(values...)
}

// Text hides the registered secrets in a text and those that follow names of secrets.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return Text(text)
	}
	return Text(r.Values(text))
}

// Values hides the registered secrets in a text.
func (r *Redactor) Values(text string) string {
	if r == nil {
		return text
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, value := range r.values {
		text = without(text, value)
	}
	return text
}

// without hides a value in a text. It hides a short value only if no letter or digit adjoins it.
func without(text, value string) string {
	i := Index(text, value)
	if i < 0 {
		return text
	}
	var b strings.Builder
	for ; i >= 0; i = Index(text, value) {
		end := i + len(value)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[end:])
		b.WriteString(text[:i])
		if len(value) < distinct && (wordy(before) || wordy(after)) {
			b.WriteString(text[i:end])
		} else {
			b.WriteString(Hidden)
		}
		text = text[end:]
	}
	b.WriteString(text)
	return b.String()
}

// Index returns the first place of a value in a text without regard to the case of ASCII letters, or -1. It copies
// nothing, since engine logs are long.
func Index(text, value string) int {
	for i := 0; i+len(value) <= len(text); i++ {
		n := 0
		for n < len(value) && lower(text[i+n]) == lower(value[n]) {
			n++
		}
		if n == len(value) {
			return i
		}
	}
	return -1
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// JSON encodes v and hides registered secrets in its strings. Field names and other values stay unchanged, so the
// result stays valid JSON.
func (r *Redactor) JSON(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil || r == nil {
		return text, err
	}
	var out bytes.Buffer
	for len(text) > 0 {
		start := bytes.IndexByte(text, '"')
		if start < 0 {
			break
		}
		end := start + 1
		for text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end++
		out.Write(text[:start])
		var value string
		if err := json.Unmarshal(text[start:end], &value); err != nil {
			return nil, err
		}
		isName := end < len(text) && text[end] == ':' // Marshal writes no space there
		if clean := r.Values(value); clean != value && !isName {
			quoted, _ := json.Marshal(clean) // encoding a string cannot fail
			out.Write(quoted)
		} else {
			out.Write(text[start:end])
		}
		text = text[end:]
	}
	out.Write(text)
	return out.Bytes(), nil
}

// Tree returns another program's decoded JSON without secrets. It hides values of fields with secret names, registered
// values, and the secrets that Text recognizes in strings. Names and values that are not strings stay unchanged.
func (r *Redactor) Tree(v any) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []any:
		clean := make([]any, len(v))
		for i, e := range v {
			clean[i] = r.Tree(e)
		}
		return clean
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, e := range v {
			clean[name] = r.field(name, e)
		}
		return clean
	}
	return v
}

// field returns the value of a field without secrets.
func (r *Redactor) field(name string, v any) any {
	if list, several := v.([]any); several && Name(name) {
		clean := make([]any, len(list))
		for i, e := range list {
			clean[i] = r.field(name, e)
		}
		return clean
	}
	if text, single := v.(string); single && Name(name) && !IsSwitch(text) {
		return Hidden
	}
	return r.Tree(v)
}
