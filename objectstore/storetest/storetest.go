package storetest

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Keys are those that the store accepts.
type Keys struct {
	ID, Secret, Session string
	Region              string // of the signatures
	Bearer              string // instead of signatures
}

// Test is what the store needs of a test, or of a script.
type Test interface {
	Fatalf(format string, args ...any)
	Defer(func())
}

// Store is a server with TLS.
type Store struct {
	URL    string
	CAFile string // PEM file of the authority of its certificate
	// Host is the domain whose subdomains are buckets; empty: paths begin with the bucket.
	Host string
	// Fault answers a request itself and returns true. n counts the requests with this method and key from 1. nil: none.
	Fault func(w http.ResponseWriter, r *http.Request, key string, n int) bool

	// Ended is closed when the test ends, for answers that wait for ever.
	Ended chan struct{}

	server  *httptest.Server
	keys    Keys
	mu      sync.Mutex
	objects map[string]object
	counts  map[string]int
	log     []string
}

type object struct {
	body   []byte
	header http.Header
}

// Start starts a store with a certificate for 127.0.0.1, example.com and *.example.com. folder receives CAFile.
func Start(t Test, folder string, keys Keys) *Store {
	s := &Store{keys: keys, Ended: make(chan struct{}), objects: map[string]object{}, counts: map[string]int{}}
	s.server = httptest.NewTLSServer(s)
	s.URL, s.CAFile = s.server.URL, filepath.Join(folder, "store-ca.pem")
	t.Defer(func() {
		close(s.Ended)
		s.server.CloseClientConnections()
		s.server.Close()
	})
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
	if err := os.WriteFile(s.CAFile, text, 0o600); err != nil {
		t.Fatalf("the certificate: %v", err)
	}
	return s
}

// Object returns the content of BUCKET/KEY.
func (s *Store) Object(name string) (body []byte, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, found := s.objects[name]
	return o.body, found
}

// Names returns the names of all objects.
func (s *Store) Names() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.objects {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Forget removes the memory of earlier requests.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.counts = nil, map[string]int{}
}

// Log returns the requests so far: method and BUCKET/KEY.
func (s *Store) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// ServeHTTP verifies and answers a request.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, err := unescape(strings.TrimPrefix(r.RequestURI, "/"))
	if bucket, ok := strings.CutSuffix(r.Host, "."+s.Host); ok && s.Host != "" {
		key = bucket + "/" + key
	}
	s.mu.Lock()
	s.log = append(s.log, r.Method+" "+key)
	s.counts[r.Method+key]++
	n := s.counts[r.Method+key]
	s.mu.Unlock()
	if s.Fault != nil && s.Fault(w, r, key, n) {
		return
	}
	body, failed := io.ReadAll(r.Body)
	if failed != nil {
		return
	}
	if err == nil {
		err = s.verify(r, body)
	}
	if err != nil {
		Refuse(w, http.StatusForbidden, "SignatureDoesNotMatch", err.Error())
		return
	}
	s.answer(w, r, key, body)
}

// Refuse answers as S3 does.
func Refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
}

func (s *Store) answer(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o, found := s.objects[key]; {
	case r.Method == http.MethodPut:
		s.objects[key] = object{body, r.Header.Clone()}
	case r.Method != http.MethodHead:
		Refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method)
	case !found:
		w.WriteHeader(http.StatusNotFound)
	default:
		for name, values := range o.header {
			if strings.Contains(strings.ToLower(name), "-meta-") {
				w.Header()[name] = values
			}
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(o.body)))
	}
}

// verify checks who sent a request, and that its body arrived unchanged.
func (s *Store) verify(r *http.Request, body []byte) error {
	if sum := r.Header.Get("Content-Md5"); sum != "" || r.Method == http.MethodPut && s.keys.Region == "auto" {
		if got := md5.Sum(body); base64.StdEncoding.EncodeToString(got[:]) != sum {
			return fmt.Errorf("the body has another MD5 than %q", sum)
		}
	}
	given := r.Header.Get("Authorization")
	if s.keys.Bearer != "" {
		if given != "Bearer "+s.keys.Bearer {
			return fmt.Errorf("another token")
		}
		return nil
	}
	want, err := s.authorization(r, given, body)
	if err == nil && given != want {
		err = fmt.Errorf("the signature of %s %s differs", r.Method, r.RequestURI)
	}
	return err
}

// authorization computes the field that a request should have, from what arrived.
func (s *Store) authorization(r *http.Request, given string, body []byte) (string, error) {
	var signed string
	for _, part := range strings.Split(strings.TrimPrefix(given, "AWS4-HMAC-SHA256 "), ",") {
		if list, ok := strings.CutPrefix(strings.TrimSpace(part), "SignedHeaders="); ok {
			signed = list
		}
	}
	names := strings.Split(signed, ";")
	for name := range r.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-amz-") && !slices.Contains(names, lower) {
			return "", fmt.Errorf("%s is not signed", name)
		}
	}
	if !slices.Contains(names, "host") || !slices.IsSorted(names) {
		return "", fmt.Errorf("the signed fields are %s", signed)
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || time.Since(at).Abs() > 15*time.Minute {
		return "", fmt.Errorf("the time is %q: %v", r.Header.Get("X-Amz-Date"), err)
	}
	if r.Header.Get("X-Amz-Security-Token") != s.keys.Session {
		return "", fmt.Errorf("another session")
	}
	sum := sha256.Sum256(body)
	if hexSum := hex.EncodeToString(sum[:]); r.Header.Get("X-Amz-Content-Sha256") != hexSum {
		return "", fmt.Errorf("the body has the SHA-256 %s", hexSum)
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	canonical := r.Method + "\n" + path + "\n" + query + "\n"
	for _, name := range names {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + strings.TrimSpace(value) + "\n"
	}
	canonical += "\n" + signed + "\n" + hex.EncodeToString(sum[:])
	day := at.Format("20060102")
	digest := sha256.Sum256([]byte(canonical))
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%sT%sZ\n%s/%s/s3/aws4_request\n%x", day, at.Format("150405"), day,
		s.keys.Region, digest)
	key := mac(mac(mac(mac([]byte("AWS4"+s.keys.Secret), day), s.keys.Region), "s3"), "aws4_request")
	return fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s/%s/s3/aws4_request,SignedHeaders=%s,Signature=%x", s.keys.ID,
		day, s.keys.Region, signed, mac(key, text)), nil
}

// mac is HMAC-SHA256 by its definition (RFC 2104).
func mac(key []byte, text string) []byte {
	if len(key) > 64 {
		short := sha256.Sum256(key)
		key = short[:]
	}
	inner, outer := make([]byte, 64), make([]byte, 64)
	for i := range 64 {
		var k byte
		if i < len(key) {
			k = key[i]
		}
		inner[i], outer[i] = k^0x36, k^0x5c
	}
	first := sha256.Sum256(append(inner, text...))
	last := sha256.Sum256(append(outer, first[:]...))
	return last[:]
}

// unescape decodes a path. It rejects a byte that the rules of signatures encode otherwise.
func unescape(path string) (string, error) {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			if !strings.Contains(plain, path[i:i+1]) {
				return "", fmt.Errorf("%q is not encoded in %q", path[i], path)
			}
			b.WriteByte(path[i])
			continue
		}
		c, err := hex.DecodeString(path[min(i+1, len(path)):min(i+3, len(path))])
		if err != nil || len(c) != 1 || strings.Contains(plain, string(c)) || path[i:i+3] != strings.ToUpper(path[i:i+3]) {
			return "", fmt.Errorf("%q is encoded wrongly", path)
		}
		b.WriteByte(c[0])
		i += 2
	}
	return b.String(), nil
}
