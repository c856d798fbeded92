package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Tokenizer is a loaded tokenizer.json or tokenizer.model.
type Tokenizer struct {
	tokens    []string         // tokens by id; empty if known is false
	known     []bool           // whether an id is used, by id
	special   []bool           // whether a token is special, by id
	ids       map[string]int32 // ids by token, in the file's notation
	model     bpe
	sp        *spModel // model of a tokenizer.model; nil for a tokenizer.json
	verbatim  matcher  // added tokens matched in the unchanged text
	canonical matcher  // added tokens matched in the normalized text
	normalize []func(string) string
	steps     []step // steps of the pre-tokenizer
	prefix    []int32
	suffix    []int32
	decoding  decoding
	encoders  *sync.Pool
}

// files lists the file names of a tokenizer in a model's folder, in order of preference.
var files = []string{"tokenizer.json", "tokenizer.model"}

// InFolder returns the path of the tokenizer in a model's folder.
func InFolder(folder string) (string, error) {
	var last error
	for _, name := range files {
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() {
			return path, nil
		}
		if err == nil {
			err = fmt.Errorf("%s is not a file", path)
		}
		if last == nil {
			last = err
		}
	}
	return "", last
}

// Open loads a tokenizer.json or a tokenizer.model, recognized by its content. path may also be the folder that
// contains it. A tokenizer_config.json in the same folder is read too. Errors are of type *Error.
func Open(path string) (*Tokenizer, error) {
	unreadable := func(path, try string, err error) error {
		return &Error{Path: path, Found: "it cannot be read: " + err.Error(), Try: try, Err: err}
	}
	const tryFile = "name the tokenizer.json of the model"
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		inside, err := InFolder(path)
		if err != nil {
			return nil, unreadable(path, tryFile, err)
		}
		path = inside
	}
	file, err := readBounded(path, mostFileBytes)
	if err != nil {
		return nil, unreadable(path, tryFile, err)
	}
	beside := filepath.Join(filepath.Dir(path), "tokenizer_config.json")
	config, err := readBounded(beside, mostConfigBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(beside, "make it readable, or move it away", err)
	}
	if looksLikeRanks(file) {
		return nil, &Error{Path: path, Found: "it is in tiktoken's format, which is not supported",
			Try: "name the tokenizer.json of the same model"}
	}
	t, err := Parse(file, config)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Path = path
	}
	return t, err
}

// readBounded reads a file of at most most bytes.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return b, err
}

// Parse loads a tokenizer from the bytes of a tokenizer.json or tokenizer.model and of a tokenizer_config.json, which
// may be nil. Errors are of type *Error.
func Parse(file, config []byte) (*Tokenizer, error) {
	if isModel(file) {
		return load(parseModel, file, config)
	}
	return load(parseJSON, file, config)
}

func load(parse func([]byte, configFile) (*Tokenizer, error), file, config []byte) (*Tokenizer, error) {
	beside, err := readConfig(config)
	if err != nil {
		return nil, err
	}
	t, err := parse(file, beside)
	if err != nil {
		return nil, err
	}
	t.decoding.cleanUp = beside.CleanUp
	t.encoders = &sync.Pool{New: func() any { return newEncoder(t) }}
	return t, nil
}

// parseJSON loads a tokenizer.json.
func parseJSON(file []byte, _ configFile) (*Tokenizer, error) {
	var doc document
	if err := json.Unmarshal(file, &doc); err != nil {
		e := broken("", "it is not a valid tokenizer.json: %v", err)
		e.Err = err
		return nil, e
	}
	t := &Tokenizer{}
	for _, load := range []func(*document) error{t.loadTokens, t.loadNormalizer, t.loadPreTokenizer, t.loadModel,
		t.loadAdded, t.loadPostProcessor, t.loadDecoder} {
		if err := load(&doc); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// loadTokens builds the tables from id to token and back, from the vocabulary and the added tokens.
func (t *Tokenizer) loadTokens(doc *document) error {
	if doc.Model == nil {
		return broken("model", "it is missing")
	}
	highest := int32(-1)
	for _, id := range doc.Model.Vocab {
		highest = max(highest, id)
	}
	for _, a := range doc.AddedTokens {
		if a.ID < 0 || a.ID > mostID {
			return broken("added_tokens", "id %d of %s is not from 0 to %d", a.ID, shown(a.Content), mostID)
		}
		highest = max(highest, a.ID)
	}
	t.tokens, t.known, t.special = make([]string, highest+1), make([]bool, highest+1), make([]bool, highest+1)
	t.ids = make(map[string]int32, len(doc.Model.Vocab)+len(doc.AddedTokens))
	for token, id := range doc.Model.Vocab {
		if len(token) > mostTokenBytes {
			return broken("model", "its token %s is longer than %d bytes", shown(token), mostTokenBytes)
		}
		if t.known[id] {
			return broken("model", "two tokens of its vocabulary have the id %d", id)
		}
		t.tokens[id], t.known[id], t.ids[token] = token, true, id
	}
	for _, a := range doc.AddedTokens {
		if id, ok := t.ids[a.Content]; ok && id != a.ID {
			return broken("added_tokens", "%s has the ids %d and %d", shown(a.Content), id, a.ID)
		}
		if t.known[a.ID] && t.tokens[a.ID] != a.Content {
			return broken("added_tokens", "%s and %s have the same id %d", shown(t.tokens[a.ID]), shown(a.Content), a.ID)
		}
		t.tokens[a.ID], t.known[a.ID], t.ids[a.Content] = a.Content, true, a.ID
		t.special[a.ID] = t.special[a.ID] || a.Special
	}
	return nil
}

// VocabSize returns the highest id plus 1. Smaller ids may be unused.
func (t *Tokenizer) VocabSize() int { return len(t.tokens) }

// ID returns the id of a token in the notation of tokenizer.json, where byte-level tokens use printable letters.
func (t *Tokenizer) ID(token string) (id int32, ok bool) {
	id, ok = t.ids[token]
	return id, ok
}

// Token returns the token of an id in the notation of tokenizer.json.
func (t *Tokenizer) Token(id int32) (token string, ok bool) {
	if !t.has(id) {
		return "", false
	}
	return t.tokens[id], true
}

// Special reports whether an id is a special token, which decoding may omit.
func (t *Tokenizer) Special(id int32) bool { return t.has(id) && t.special[id] }

func (t *Tokenizer) has(id int32) bool { return id >= 0 && int(id) < len(t.known) && t.known[id] }
