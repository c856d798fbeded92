package objectstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Options are the environment of a store.
type Options struct {
	Lookup Lookup            // of the variables
	CAFile string            // PEM file of additional certificate authorities; empty: AWS_CA_BUNDLE for S3, or none
	Access atomicfile.Access // who may read upload.json
}

// Store is a destination with the keys for it.
type Store struct {
	Destination
	at      address
	keys    keys
	signer  signer
	client  *http.Client
	secrets *secret.Redactor
	access  atomicfile.Access

	stall time.Duration                                        // without progress, after which an attempt is given up
	pause func(ctx context.Context, after time.Duration) error // between two attempts
}

// Limits of requests.
const (
	attempts    = 6
	firstPause  = 500 * time.Millisecond // doubled after every attempt, and varied by half
	longestWait = 30 * time.Second       // for a store that asks for a pause
	stallLimit  = time.Minute
	maxAnswer   = 64 << 10 // bytes
	quoteBytes  = 300      // of a store's text in an error
)

// region matches names of regions, which become part of a host name.
var region = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// Open finds the keys and the address of a destination. It sends nothing.
func Open(d Destination, o Options) (*Store, error) {
	k, err := keysOf(d.Scheme, o.Lookup)
	if err != nil {
		return nil, err
	}
	endpoint, standard, authorities := d.Endpoint, "https://storage.googleapis.com", o.CAFile
	zone := "auto"
	if d.Scheme == Google {
		if endpoint = cmp.Or(endpoint, o.Lookup.first("STORAGE_EMULATOR_HOST")); endpoint != "" &&
			!strings.Contains(endpoint, "://") {
			endpoint = "http://" + endpoint
		}
	} else {
		zone = cmp.Or(d.Region, o.Lookup.first("AWS_REGION", "AWS_DEFAULT_REGION"), "us-east-1")
		endpoint = cmp.Or(endpoint, o.Lookup.first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
		authorities = cmp.Or(authorities, o.Lookup.first("AWS_CA_BUNDLE"))
		standard = "https://s3." + zone + ".amazonaws.com"
		if strings.HasPrefix(zone, "cn-") {
			standard += ".cn"
		}
	}
	if !region.MatchString(zone) {
		return nil, fmt.Errorf("%.40q is not the name of a region", zone)
	}
	a, err := addressOf(d, endpoint, standard)
	if err != nil {
		return nil, err
	}
	if err := k.checkTransport(a, httpclient.Trusted(a.url(""))); err != nil {
		return nil, err
	}
	pool, err := backends.Authorities(authorities)
	if err != nil {
		return nil, err
	}
	return &Store{Destination: d, at: a, keys: k, signer: signer{k, zone}, secrets: k.redactor(), access: o.Access,
		stall: stallLimit,
		pause: sleep, client: httpclient.New(httpclient.Options{Authorities: pool})}, nil
}

// Failed returns the error of an upload with what to do. Another error than an interruption has the code upload, and
// repeat is the command that makes the upload again.
func (s *Store) Failed(err error, folder, repeat string) error {
	hint := fmt.Sprintf("The results are complete in %s. Send them again with `%s`", folder, repeat)
	if _, stopped := errors.AsType[exit.Interrupt](err); stopped || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w. %s", err, hint)
	}
	return exit.Environment(exit.CodeUpload, hint, "the results were not sent to %s: %w", s, err)
}

// Close closes idle connections.
func (s *Store) Close() { s.client.CloseIdleConnections() }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// refusal is an answer of a store that is no success.
type refusal struct {
	status        int
	code, message string        // of the store
	region        string        // of the bucket, if the store names it
	after         time.Duration // which the store asks to wait; 0: it does not
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("the store answered %d %s", r.status, http.StatusText(r.status))
	if r.code != "" {
		text += ": " + strings.TrimSuffix(r.code+": "+r.message, ": ")
	}
	switch {
	case r.region != "":
		return text + "; the bucket is in the region " + r.region + ": set AWS_REGION"
	case r.status >= 300 && r.status < 400:
		return text + "; redirects are not followed, because keys are for one host: name the bucket's own endpoint"
	}
	return text
}

// passes reports whether a later attempt may succeed.
func (r *refusal) passes() bool {
	return r.status >= 500 && r.status != http.StatusNotImplemented || r.status == http.StatusTooManyRequests ||
		r.status == http.StatusRequestTimeout || r.code == "RequestTimeout" || r.code == "SlowDown"
}

// errSource is the cause of a body that cannot be read, which no further attempt mends.
var errSource = errors.New("the file cannot be read")

// repeat makes attempts until one succeeds, or until the error will not pass.
func (s *Store) repeat(ctx context.Context, attempt func(context.Context) error) error {
	for n := 0; ; n++ {
		err := attempt(ctx)
		if err == nil || ctx.Err() != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		wait := firstPause << n
		wait += rand.N(wait / 2)
		if r, ok := errors.AsType[*refusal](err); ok {
			if !r.passes() {
				return err
			}
			wait = max(wait, r.after)
		} else if errors.Is(err, errSource) || isCertificate(err) {
			return err
		}
		if n+1 == attempts {
			return fmt.Errorf("%d attempts failed, the last one because %w", attempts, err)
		}
		if err := s.pause(ctx, wait); err != nil {
			return err
		}
	}
}

// isCertificate reports whether an error is about the certificate of the store.
func isCertificate(err error) bool {
	_, is := errors.AsType[*tls.CertificateVerificationError](err)
	return is
}

// request makes one attempt of a request, and returns the header of the answer. body is the content of f; nil: none. An
// attempt without progress is given up.
func (s *Store) request(ctx context.Context, method, key string, body io.Reader, f *File) (http.Header, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(s.stall, func() { cancel(fmt.Errorf("nothing moved for %v", s.stall)) })
	defer timer.Stop()
	r, err := http.NewRequestWithContext(ctx, method, s.at.url(key).String(), nil)
	if err != nil {
		return nil, err
	}
	source := &meter{from: body, moved: func() { timer.Reset(s.stall) }}
	sum := emptySum
	if body != nil {
		sum = f.SHA256
		source.left, r.ContentLength = f.Bytes, f.Bytes
		if r.Body = io.NopCloser(source); f.Bytes == 0 {
			r.Body = http.NoBody
		}
		r.Header.Set("Content-Type", contentType(f.Name))
		r.Header.Set(s.sumField(), f.SHA256)
		if s.Scheme == Google { // which checks no other sum
			r.Header.Set("Content-Md5", f.md5)
		}
	}
	if s.keys.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+s.keys.bearer)
	} else {
		s.signer.sign(r, sum, time.Now())
	}
	response, err := s.client.Do(r)
	if err != nil {
		switch cause := context.Cause(ctx); {
		case source.failed.Load():
			return nil, fmt.Errorf("%w: %w", errSource, err)
		case cause != nil:
			return nil, cause
		}
		return nil, s.hidden(err)
	}
	defer response.Body.Close()
	return s.answer(response)
}

// hidden returns an error without keys.
func (s *Store) hidden(err error) error {
	if text := err.Error(); s.secrets.Values(text) != text {
		return errors.New(s.secrets.Values(text))
	}
	return err
}

// answer returns the header of a success, or a refusal.
func (s *Store) answer(response *http.Response) (http.Header, error) {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // the rest does not matter
	if response.StatusCode == http.StatusOK || response.StatusCode == http.StatusCreated {
		if err != nil {
			return nil, fmt.Errorf("the answer of the store was cut: %w", err)
		}
		return response.Header, nil
	}
	quote := func(name string) string {
		_, rest, _ := strings.Cut(string(text), "<"+name+">")
		inside, _, found := strings.Cut(rest, "</"+name+">")
		if !found {
			return ""
		}
		return foreign.Line(s.secrets.Values(inside), quoteBytes)
	}
	r := &refusal{status: response.StatusCode, code: quote("Code"), message: quote("Message")}
	if zone := response.Header.Get("X-Amz-Bucket-Region"); zone != s.signer.region && region.MatchString(zone) {
		r.region = zone
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.after = min(time.Duration(min(seconds, 3600))*time.Second, longestWait)
	}
	return nil, r
}

// meter passes the bytes of a file on, and reports progress.
type meter struct {
	from   io.Reader
	left   int64
	moved  func()
	failed atomic.Bool // whether the file could not be read to its end
}

func (m *meter) Read(p []byte) (int, error) {
	m.moved()
	n, err := m.from.Read(p)
	m.left -= int64(n)
	if err == io.EOF && m.left > 0 {
		err = errors.New("it became shorter while it was sent")
	}
	if err != nil && err != io.EOF {
		m.failed.Store(true)
	}
	return n, err
}

// sumField is the field with the SHA-256 of an object.
func (s *Store) sumField() string {
	if s.keys.bearer != "" {
		return "X-Goog-Meta-Sha256"
	}
	return "X-Amz-Meta-Sha256"
}

// contentType returns the type of a file by the end of its name.
func contentType(name string) string {
	for end, kind := range map[string]string{".json": "application/json", ".html": "text/html; charset=utf-8",
		".txt": "text/plain; charset=utf-8", ".yaml": "application/yaml"} {
		if strings.HasSuffix(name, end) {
			return kind
		}
	}
	return "application/octet-stream"
}
