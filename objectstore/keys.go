package objectstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/secret"
)

// Lookup returns the value of a variable. os.LookupEnv is one.
type Lookup func(name string) (value string, found bool)

// first returns the value of the first variable that is set and not empty.
func (l Lookup) first(names ...string) string {
	for _, name := range names {
		if value, ok := l(name); ok && value != "" {
			return value
		}
	}
	return ""
}

// keys identify the user: an access key for signatures, or a bearer token.
type keys struct {
	id, secret string
	session    string // token of temporary keys; empty: the keys are permanent
	bearer     string // instead of signatures; empty: none
}

// keysOf returns the keys of the environment. Google's keys have variables of their own, so that it never receives a
// token of AWS.
func keysOf(scheme string, env Lookup) (keys, error) {
	k, err := unchecked(scheme, env)
	for _, value := range []string{k.id, k.secret, k.session, k.bearer} {
		if err == nil && strings.IndexFunc(value, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0 {
			return k, errors.New("a key of the store in the environment has blanks, line feeds or other characters that no " +
				"key has")
		}
	}
	return k, err
}

func unchecked(scheme string, env Lookup) (k keys, err error) {
	if scheme == Google {
		k.bearer = env.first("GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN")
		if k.bearer != "" {
			return k, nil
		}
		k.id, k.secret = env.first("GS_ACCESS_KEY_ID"), env.first("GS_SECRET_ACCESS_KEY")
		if k.id == "" || k.secret == "" {
			return k, errors.New("no keys of Google Cloud Storage in the environment: set GOOGLE_OAUTH_ACCESS_TOKEN, such as " +
				"to the output of `gcloud auth print-access-token`, or GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY to an HMAC key")
		}
		return k, nil
	}
	k = keys{id: env.first("AWS_ACCESS_KEY_ID"), secret: env.first("AWS_SECRET_ACCESS_KEY"),
		session: env.first("AWS_SESSION_TOKEN")}
	if k.id == "" || k.secret == "" {
		return k, errors.New("no keys of S3 in the environment: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, such as " +
			"with `eval \"$(aws configure export-credentials --format env)\"`")
	}
	return k, nil
}

// checkTransport rejects an address without TLS for keys that requests contain. Signatures are safe there, because the
// key cannot be derived from them.
func (k *keys) checkTransport(a address, trusted bool) error {
	if trusted || k.bearer == "" && k.session == "" {
		return nil
	}
	return fmt.Errorf("%s has no TLS, and a token would be readable on the way: use https, or keys without a token",
		a.host)
}

// redactor returns what hides the keys in texts of a store.
func (k *keys) redactor() *secret.Redactor {
	r := &secret.Redactor{}
	r.Add(k.secret, k.session, k.bearer)
	return r
}
