package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Limits for a tokenizer.json. The largest public ones have about 35 MB, 260,000 tokens and 600,000 merges.
const (
	mostFileBytes   = 64 << 20
	mostConfigBytes = 16 << 20
	mostID          = 1<<21 - 1
	mostMerges      = 1 << 22
	mostTokenBytes  = 1 << 14
	mostAdded       = 1 << 16
	mostAddedBytes  = 1 << 8   // maximum length of one added token in bytes
	mostSteps       = 64       // maximum number of steps in a Sequence, or of pieces in a template
	mostDepth       = 8        // maximum nesting of Sequences
	mostGrowth      = 64       // maximum factor by which Replace steps may lengthen a text
	mostDecoded     = 64 << 20 // maximum total length of all tokens' texts in bytes
)

// document is a tokenizer.json. It omits truncation and padding, which are the caller's responsibility.
type document struct {
	AddedTokens   list[addedToken] `json:"added_tokens"`
	Normalizer    *part            `json:"normalizer"`
	PreTokenizer  *part            `json:"pre_tokenizer"`
	PostProcessor *part            `json:"post_processor"`
	Decoder       *part            `json:"decoder"`
	Model         *modelPart       `json:"model"`
}

type modelPart struct {
	Type                    string          `json:"type"`
	Dropout                 *float64        `json:"dropout"`
	UnkToken                *string         `json:"unk_token"`
	ContinuingSubwordPrefix *string         `json:"continuing_subword_prefix"`
	EndOfWordSuffix         *string         `json:"end_of_word_suffix"`
	FuseUnk                 bool            `json:"fuse_unk"`
	ByteFallback            bool            `json:"byte_fallback"`
	IgnoreMerges            bool            `json:"ignore_merges"`
	Vocab                   tokenIDs        `json:"vocab"`
	Merges                  list[mergePair] `json:"merges"`
}

type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// part is a normalizer, pre-tokenizer, post-processor or decoder, with the fields of all four.
type part struct {
	Type string `json:"type"`

	Normalizers   list[part] `json:"normalizers"`
	PreTokenizers list[part] `json:"pretokenizers"`
	Processors    list[part] `json:"processors"`
	Decoders      list[part] `json:"decoders"`

	Pattern          *pattern `json:"pattern"`
	Behavior         string   `json:"behavior"`
	Invert           bool     `json:"invert"`
	AddPrefixSpace   *bool    `json:"add_prefix_space"`
	UseRegex         *bool    `json:"use_regex"`
	IndividualDigits bool     `json:"individual_digits"`
	Replacement      string   `json:"replacement"`
	PrependScheme    *string  `json:"prepend_scheme"`
	Split            *bool    `json:"split"`
	Prepend          string   `json:"prepend"`
	Content          string   `json:"content"`
	Start            int      `json:"start"`
	Stop             int      `json:"stop"`

	Single        list[templatePiece]      `json:"single"`
	SpecialTokens map[string]templateToken `json:"special_tokens"`
}

type pattern struct {
	String *string
	Regex  *string
}

type templatePiece struct {
	SpecialToken *struct {
		ID string `json:"id"`
	}
	Sequence *struct {
		ID string `json:"id"`
	}
}

type templateToken struct {
	IDs []int32 `json:"ids"`
}

// list is a JSON array whose length is checked while it is read, so that a hostile file cannot exhaust memory.
type list[T any] []T

// UnmarshalJSON reads the elements one by one and fails if there are too many.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*l = nil
		return nil
	}
	most := mostSteps
	switch any(l).(type) {
	case *list[mergePair]:
		most = mostMerges
	case *list[addedToken]:
		most = mostAdded
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return fmt.Errorf("found %s, expected an array", shown(string(b)))
	}
	*l = list[T]{} // if a key occurs twice, the last one counts
	for d.More() {
		if len(*l) == most {
			return fmt.Errorf("found an array of more than %d elements", most)
		}
		var element T
		if err := d.Decode(&element); err != nil {
			return err
		}
		*l = append(*l, element)
	}
	return nil
}

// tokenIDs is the vocabulary of a model. It maps each token to its id.
type tokenIDs map[string]int32

// UnmarshalJSON reads an object of ids. If a key occurs twice, the last one counts.
func (v *tokenIDs) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("vocabulary is %s, expected an object of ids", shown(string(b)))
	}
	*v = make(tokenIDs, min(len(b)/20, mostID))
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		token := key.(string) // keys of a JSON object are strings
		value, err := d.Token()
		if err != nil {
			return err
		}
		number, ok := value.(json.Number)
		id, err := number.Int64()
		if !ok || err != nil || id < 0 || id > mostID {
			return fmt.Errorf("token %[2]s has the id %[1]v, expected an integer from 0 to %[3]d", value, shown(token), mostID)
		}
		(*v)[token] = int32(id)
	}
	return nil
}

// mergePair is one merge, written as "a b" or as ["a", "b"].
type mergePair struct{ left, right string }

// UnmarshalJSON reads either notation.
func (m *mergePair) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("[")) {
		var two []string
		if err := json.Unmarshal(b, &two); err != nil {
			return err
		}
		if len(two) != 2 {
			return fmt.Errorf("a merge has %d tokens, expected 2", len(two))
		}
		m.left, m.right = two[0], two[1]
		return nil
	}
	var line string
	if err := json.Unmarshal(b, &line); err != nil {
		return err
	}
	var ok bool
	m.left, m.right, ok = strings.Cut(line, " ")
	if !ok || strings.Contains(m.right, " ") {
		return fmt.Errorf("merge %s, expected two tokens separated by a space", shown(line))
	}
	return nil
}

// steps returns the steps of a part in order, with nested Sequences flattened.
func (p *part) steps(where string) ([]*part, error) {
	steps, err := p.appendSteps(nil, 0)
	if err != nil {
		return nil, broken(where, "%v", err)
	}
	return steps, nil
}

func (p *part) appendSteps(steps []*part, depth int) ([]*part, error) {
	switch {
	case p == nil:
		return steps, nil
	case p.Type != "Sequence" && len(steps) == mostSteps:
		return nil, fmt.Errorf("it has more than %d steps", mostSteps)
	case p.Type != "Sequence":
		return append(steps, p), nil
	case depth == mostDepth:
		return nil, fmt.Errorf("its Sequences are nested deeper than %d", mostDepth)
	}
	var err error
	for _, inner := range []list[part]{p.Normalizers, p.PreTokenizers, p.Processors, p.Decoders} {
		for i := range inner {
			if steps, err = inner[i].appendSteps(steps, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return steps, nil
}
