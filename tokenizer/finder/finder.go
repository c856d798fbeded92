package finder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/tokenizer"
)

// Way states how a tokenizer was found.
type Way string

// The ways, in the order they are tried.
const (
	ByPath   Way = "path"
	ByCache  Way = "hugging-face-cache"
	ByServer Way = "server"
	ByFetch  Way = "download"
)

// Options configures Find.
type Options struct {
	Name     string   // file, folder or organisation/model that the user named; empty: use Models
	Models   []string // names of the model, tried in this order
	Revision string   // branch or commit in the cache or the hub; empty: main

	Cache   string  // hub folder of the Hugging Face cache; empty: unknown
	Server  *Server // server that may answer /tokenize; nil: none
	Plain   bool    // whether decoded text must omit special tokens, which not every server can do
	Fetch   bool    // whether downloads are allowed
	Offline bool    // whether the environment forbids downloads (HF_HUB_OFFLINE)
	Hub     string  // address of the hub; empty: DefaultHub
	Token   Secret  // access token for the hub; may be empty

	TokenFile string // file with the token if Token is empty; read only for a download
	// Web sets the proxy and the certificate authorities for server and hub. The hub's certificate is always verified.
	Web httpclient.Options
}

// Secret is text that no format verb prints.
type Secret string

// Format hides the secret.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "(hidden)") }

// MarshalText hides the secret in JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte("(hidden)"), nil }

// Source describes the tokenizer that was used, for records.
type Source struct {
	Way      Way    `json:"way"`
	Name     string `json:"name,omitempty"`     // model's name, if the tokenizer was looked up by name
	Place    string `json:"place"`              // path of the file, or address of the server
	Revision string `json:"revision,omitempty"` // commit of the model in cache or hub
	SHA256   string `json:"sha256,omitempty"`   // SHA-256 of the file
}

// String returns a one-line description.
func (s Source) String() string {
	text := fmt.Sprintf("tokenizer: %s (%s", s.Place, s.Way)
	if s.Revision != "" {
		text += ", revision " + s.Revision
	}
	return text + ")"
}

// Found is a usable tokenizer, either loaded from a file or on a server. It is safe for concurrent use.
type Found struct {
	Source
	Tokenizer *tokenizer.Tokenizer // nil: the server's tokenizer is used

	remote *remote
}

// Count returns the number of tokens in a text, without the tokens that begin every prompt.
func (f *Found) Count(ctx context.Context, text string) (int, error) {
	ids, err := f.Encode(ctx, text, false)
	return len(ids), err
}

// Encode returns the ids of a text; addSpecial adds the model's special tokens around them. It fails only if a server
// does the encoding.
func (f *Found) Encode(ctx context.Context, text string, addSpecial bool) ([]int32, error) {
	if f.Tokenizer != nil {
		return f.Tokenizer.Encode(text, addSpecial), nil
	}
	return f.remote.encode(ctx, text, addSpecial)
}

// Decode returns the text of ids; skipSpecial omits special tokens. It fails only if a server does the decoding.
func (f *Found) Decode(ctx context.Context, ids []int32, skipSpecial bool) (string, error) {
	if f.Tokenizer != nil {
		return f.Tokenizer.Decode(ids, skipSpecial), nil
	}
	return f.remote.decode(ctx, ids, skipSpecial)
}

// search is one call of Find; tried lists the failed attempts for the error message.
type search struct {
	o     Options
	tried []string
}

func (s *search) note(way string, err error) { s.tried = append(s.tried, way+": "+err.Error()) }

// Find returns the tokenizer that the first successful way leads to. If the user named a file and it is broken, Find
// fails immediately. Otherwise the error lists the failed attempts and the four ways.
func Find(ctx context.Context, o Options) (*Found, error) {
	s := &search{o: o}
	names := o.Models
	if o.Name != "" {
		names = []string{o.Name}
		path, err := fileOf(o.Name)
		if err == nil {
			return open(path, Source{Way: ByPath, Place: path})
		}
		s.note("as a path", err)
		if !repository.MatchString(o.Name) {
			return nil, s.notFound()
		}
	}
	for _, way := range []func(context.Context, *search, []string) *Found{inCache, onServer, fromHub} {
		if f := way(ctx, s, names); f != nil {
			return f, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("looking for a tokenizer: %w", context.Cause(ctx))
		}
	}
	return nil, s.notFound()
}

// Check returns an error if name can only be a path and no tokenizer exists there. It does not look up model names.
func Check(name string) error {
	_, err := fileOf(name)
	ending := filepath.Ext(name)
	if err == nil || repository.MatchString(name) && ending != ".json" && ending != ".model" {
		return nil
	}
	s := &search{o: Options{Name: name}}
	s.note("as a path", err)
	return s.notFound()
}

func (s *search) notFound() error {
	what := "the model"
	if s.o.Name != "" {
		what = fmt.Sprintf("%.200q", s.o.Name)
	} else if len(s.o.Models) > 0 {
		what = fmt.Sprintf("%.200q", s.o.Models)
	}
	return fmt.Errorf("no tokenizer found for %s (%s); name a tokenizer.json, a tokenizer.model or their folder "+
		"with --tokenizer, set HF_HOME to a cache that has the model, "+
		"name a server that answers /tokenize with --endpoint, or allow the download with --fetch-tokenizer", what,
		strings.Join(s.tried, "; "))
}

// open loads a file and adds its SHA-256 to the source.
func open(path string, from Source) (*Found, error) {
	t, err := tokenizer.Open(path)
	if err != nil {
		return nil, err
	}
	if from.SHA256, err = sum(path); err != nil {
		return nil, err
	}
	return &Found{Source: from, Tokenizer: t}, nil
}

func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("computing the tokenizer's SHA-256: %w", err)
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("computing the SHA-256 of the tokenizer %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
