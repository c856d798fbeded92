package finder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/tokenizer"
)

// DefaultHub is the default of HF_ENDPOINT.
const DefaultHub = "https://huggingface.co"

const (
	fetchTimeout  = 10 * time.Minute
	mostRedirects = 5
)

// fetched lists the files of a tokenizer with their size limits. The first required file that the hub has is the
// tokenizer.
var fetched = []struct {
	name     string
	most     int64
	required bool
}{
	{"tokenizer.json", 64 << 20, true},
	{"tokenizer.model", 16 << 20, true},
	{"tokenizer_config.json", 16 << 20, false},
}

var (
	commitForm = regexp.MustCompile(`^[0-9a-f]{40}$`)
	sumForm    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// fetch is one download.
type fetch struct {
	hub    *url.URL
	token  Secret
	client *http.Client
}

// fromHub downloads the tokenizer into the cache, so that the next look-up finds it there.
func fromHub(ctx context.Context, s *search, names []string) *Found {
	const way = "from the hub"
	switch {
	case !s.o.Fetch:
		s.note(way, errors.New("downloads are not allowed"))
		return nil
	case s.o.Offline:
		s.note(way, errors.New("HF_HUB_OFFLINE forbids downloads"))
		return nil
	case len(names) == 0:
		s.note(way, errors.New("the model's name on the hub is not known"))
	}
	for _, name := range names {
		f, err := s.download(ctx, name)
		if err == nil {
			return f
		}
		s.note(way, err)
	}
	return nil
}

func (s *search) download(ctx context.Context, name string) (*Found, error) {
	model, err := s.modelFolder(name)
	if err != nil {
		return nil, err
	}
	branch, err := s.branch()
	if err != nil {
		return nil, err
	}
	if s.o.Cache == "" {
		return nil, errors.New("no cache folder to store it in (set HF_HOME)")
	}
	f, err := s.newFetch()
	if err != nil {
		return nil, err
	}
	files, commit, err := f.all(ctx, name, branch)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(model, "snapshots", commit)
	path, err := store(folder, files)
	if err != nil {
		return nil, err
	}
	if branch != commit {
		ref := filepath.Join(model, "refs", branch)
		if err := errors.Join(os.MkdirAll(filepath.Dir(ref), 0o755), atomicfile.WriteBytes(ref, []byte(commit))); err != nil {
			return nil, err
		}
	}
	return open(path, Source{Way: ByFetch, Name: name, Place: path, Revision: commit})
}

// newFetch checks the hub's address, because tokens and tokenizers may only be sent over an authenticated connection.
func (s *search) newFetch() (*fetch, error) {
	address := s.o.Hub
	if address == "" {
		address = DefaultHub
	}
	hub, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || hub.Host == "" || hub.User != nil {
		return nil, errors.New("the hub's address (HF_ENDPOINT) is not a URL of the form https://host")
	}
	if !httpclient.Trusted(hub) {
		return nil, fmt.Errorf("the hub's address %s is not https, so its files could be forged", hub)
	}
	token := s.o.Token
	if token == "" && s.o.TokenFile != "" {
		text, err := readSmall(s.o.TokenFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("reading the token for the hub: %w", err)
		}
		token = Secret(text)
	}
	web := s.o.Web
	web.Timeout, web.Redirects, web.InsecureSkipVerify = fetchTimeout, mostRedirects, false
	web.Certificates = nil // the client certificate is meant for the server under test
	return &fetch{hub, token, httpclient.New(web)}, nil
}

// all fetches the files and returns the commit they belong to.
func (f *fetch) all(ctx context.Context, name, branch string) (files map[string][]byte, commit string, err error) {
	files = map[string][]byte{}
	have := false
	for _, want := range fetched {
		if want.required && have {
			continue
		}
		data, from, err := f.get(ctx, f.hub.JoinPath(name, "resolve", branch, want.name), want.most)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		files[want.name] = data
		have = have || want.required
		if want.required {
			commit = from
		}
		if commit == "" {
			sum := sha256.Sum256(data) // if the answer has no commit, the file's hash names the snapshot
			commit = hex.EncodeToString(sum[:])[:40]
		}
	}
	if !have {
		return nil, "", fmt.Errorf("%s has neither a tokenizer.json nor a tokenizer.model of %s at revision %s", f.hub, name,
			branch)
	}
	return files, commit, nil
}

// get fetches one file. The error is fs.ErrNotExist if the hub has no such file.
func (f *fetch) get(ctx context.Context, from *url.URL, most int64) (data []byte, commit string, err error) {
	defer f.client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, "", err
	}
	if f.token != "" {
		req.Header.Set("Authorization", "Bearer "+string(f.token))
	}
	reply, err := f.client.Do(req)
	if err != nil {
		// The address of a redirect may contain a signature, so the error names only the hub's address.
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, "", fmt.Errorf("fetching %s: %w", from, err)
	}
	defer reply.Body.Close()
	switch reply.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, "", fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, "", fmt.Errorf("fetching %s: the hub answered %s; ask for access on the model's page, and set HF_TOKEN",
			from, reply.Status)
	default:
		return nil, "", fmt.Errorf("fetching %s: the hub answered %s", from, reply.Status)
	}
	if data, err = httpclient.ReadBody(reply, most); err != nil {
		return nil, "", fmt.Errorf("fetching %s: %w", from, err)
	}
	commit, sum := headers(reply)
	if got := sha256.Sum256(data); sum != "" && sum != hex.EncodeToString(got[:]) {
		return nil, "", fmt.Errorf("fetching %s: its SHA-256 is %x, expected %s; try again", from, got, sum)
	}
	return data, commit, nil
}

// headers returns the commit and SHA-256 in the hub's first answer, which may have been a redirect.
func headers(reply *http.Response) (commit, sum string) {
	for r := reply; r != nil; r = r.Request.Response {
		if c := r.Header.Get("X-Repo-Commit"); commitForm.MatchString(c) {
			commit = c
		}
		if s := strings.Trim(r.Header.Get("X-Linked-Etag"), `"`); sumForm.MatchString(s) {
			sum = s
		}
	}
	return commit, sum
}

// store moves the files into a snapshot folder of the cache after a test that they load. It returns the tokenizer's
// path.
func store(folder string, files map[string][]byte) (string, error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return "", err
	}
	aside, err := os.MkdirTemp(filepath.Dir(folder), ".fetched-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(aside)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(aside, name), data, 0o644); err != nil {
			return "", err
		}
	}
	path, err := tokenizer.InFolder(aside)
	if err != nil {
		return "", err
	}
	if _, err := tokenizer.Open(path); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for name := range files {
		if err := os.Rename(filepath.Join(aside, name), filepath.Join(folder, name)); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}
