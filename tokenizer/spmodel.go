package tokenizer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"unicode/utf8"
)

// A tokenizer.model is a protobuf message with pieces, their scores and the normalization of text
// (sentencepiece_model.proto of google/sentencepiece, whose field numbers this file uses).

// Kinds of pieces.
const (
	pieceNormal = 1 + iota
	pieceUnknown
	pieceControl
	pieceUser
	pieceUnused
	pieceByte
)

const (
	kindUnigram = 1
	kindBPE     = 2
)

// Limits for a tokenizer.model. The public ones have up to 260,000 pieces of at most 48 bytes each, 2 MB in total.
const (
	mostPieceBytes  = 256
	mostPiecesBytes = 8 << 20
)

// spaceMark represents a space in pieces.
const spaceMark = "▁"

// spFile is the content of a tokenizer.model.
type spFile struct {
	pieces     []spPiece
	bytes      int // total length of all pieces in bytes
	kind       int
	suffix     bool // whether the mark follows a word instead of preceding it
	byteTokens bool // whether an unknown character becomes its bytes
	unk, bos   int32
	eos        int32
	unkText    string
	normal     spNormal
}

type spPiece struct {
	text  string
	score float32
	kind  int
}

// parseModel loads a tokenizer.model. Encode and Decode then return the same results as SentencePiece.
func parseModel(file []byte, config configFile) (*Tokenizer, error) {
	doc, err := readModel(file)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{sp: &spModel{file: doc}}
	for _, load := range []func() error{t.loadPieceTokens, t.loadPieceModel, t.loadPieceDecoder} {
		if err := load(); err != nil {
			return nil, err
		}
	}
	if t.has(doc.bos) && (config.AddBOS == nil || *config.AddBOS) {
		t.prefix = []int32{doc.bos}
	}
	if t.has(doc.eos) && config.AddEOS != nil && *config.AddEOS {
		t.suffix = []int32{doc.eos}
	}
	return t, nil
}

// configFile holds the fields of a tokenizer_config.json that this package uses.
type configFile struct {
	CleanUp bool  `json:"clean_up_tokenization_spaces"`
	AddBOS  *bool `json:"add_bos_token"`
	AddEOS  *bool `json:"add_eos_token"`
}

func readConfig(config []byte) (c configFile, err error) {
	if len(config) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(config, &c); err != nil {
		e := broken("tokenizer_config.json", "it is not valid JSON: %v", err)
		e.Err = err
		return c, e
	}
	return c, nil
}

const modelPartName = "tokenizer.model"

func readModel(file []byte) (*spFile, error) {
	doc := &spFile{kind: kindUnigram, bos: 1, eos: 2, unkText: " \u2047 ",
		normal: spNormal{dummyPrefix: true, noExtra: true, escape: true}}
	err := eachField(file, func(f field) error {
		switch f.number {
		case 1:
			return doc.readPiece(f.bytes)
		case 2:
			return doc.readTrainer(f.bytes)
		case 3:
			return doc.normal.read(f.bytes)
		case 5:
			return refuseDenormalizer(f.bytes)
		}
		return nil
	})
	own, isOwn := errors.AsType[*Error](err)
	switch {
	case isOwn:
		return nil, own
	case err != nil:
		e := broken("", "it is not a valid tokenizer.model: %v", err)
		e.Err = err
		return nil, e
	case len(doc.pieces) == 0:
		return nil, broken(modelPartName, "it has no pieces")
	case doc.kind != kindUnigram && doc.kind != kindBPE:
		return nil, unsupported(modelPartName, "its model is of type %d, neither unigram (1) nor BPE (2)", doc.kind)
	}
	return doc, nil
}

func (doc *spFile) readPiece(message []byte) error {
	p := spPiece{kind: pieceNormal}
	err := eachField(message, func(f field) error {
		switch f.number {
		case 1:
			p.text = string(f.bytes)
		case 2:
			p.score = f.float()
		case 3:
			p.kind = int(min(f.varint, math.MaxInt16))
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(doc.pieces) > mostID:
		return broken(modelPartName, "it has more than %d pieces", mostID)
	case len(p.text) > mostPieceBytes:
		return broken(modelPartName, "its piece %s has more than %d bytes", shown(p.text), mostPieceBytes)
	case p.text == "" || !utf8.ValidString(p.text):
		return broken(modelPartName, "its piece %d is empty or not UTF-8", len(doc.pieces))
	case p.score != p.score:
		return broken(modelPartName, "the score of its piece %s is not a number", shown(p.text))
	case p.kind == pieceUnused || p.kind < pieceNormal || p.kind > pieceByte:
		return unsupported(modelPartName, "its piece %s is of type %d", shown(p.text), p.kind)
	}
	if doc.bytes += len(p.text); doc.bytes > mostPiecesBytes {
		return broken(modelPartName, "its pieces have more than %d bytes together", mostPiecesBytes)
	}
	doc.pieces = append(doc.pieces, p)
	return nil
}

func (doc *spFile) readTrainer(message []byte) error {
	return eachField(message, func(f field) error {
		switch f.number {
		case 3:
			doc.kind = int(min(f.varint, math.MaxInt16))
		case 24:
			doc.suffix = f.bool()
		case 35:
			doc.byteTokens = f.bool()
		case 41:
			doc.bos = int32(f.varint)
		case 42:
			doc.eos = int32(f.varint)
		case 44:
			doc.unkText = string(f.bytes[:min(len(f.bytes), mostAddedBytes)])
		}
		return nil
	})
}

// refuseDenormalizer rejects a file that transforms decoded text; no public language model has one.
func refuseDenormalizer(message []byte) error {
	return eachField(message, func(f field) error {
		if f.number == 2 && len(f.bytes) > 0 {
			return unsupported(modelPartName, "it has a denormalizer")
		}
		return nil
	})
}

// loadPieceTokens builds the tables from id to piece and back.
func (t *Tokenizer) loadPieceTokens() error {
	doc := t.sp.file
	n := len(doc.pieces)
	t.tokens, t.known, t.special, t.ids = make([]string, n), make([]bool, n), make([]bool, n), make(map[string]int32, n)
	doc.unk = none
	for i, p := range doc.pieces {
		if other, twice := t.ids[p.text]; twice {
			return broken(modelPartName, "its pieces %d and %d are both %s", other, i, shown(p.text))
		}
		t.tokens[i], t.known[i], t.special[i], t.ids[p.text] = p.text, true, p.kind == pieceControl, int32(i)
		if p.kind == pieceUnknown {
			doc.unk = int32(i)
		}
	}
	if doc.unk == none {
		return broken(modelPartName, "it has no unknown piece")
	}
	return nil
}

// loadPieceDecoder computes the text that each piece adds when decoded.
func (t *Tokenizer) loadPieceDecoder() error {
	doc := t.sp.file
	d := &t.decoding
	d.texts, d.bytes, d.byteByByte = make([]string, len(doc.pieces)), make([]int16, len(doc.pieces)), true
	total := 0
	for id, p := range doc.pieces {
		d.bytes[id] = -1
		switch p.kind {
		case pieceUnknown:
			d.texts[id] = doc.unkText
		case pieceByte:
			if d.bytes[id] = fallbackByte(p.text); d.bytes[id] < 0 {
				return broken(modelPartName, "its piece %s has type BYTE but names no byte", shown(p.text))
			}
		case pieceControl:
			d.texts[id] = p.text
		default:
			d.texts[id] = strings.ReplaceAll(p.text, spaceMark, " ")
		}
		if total += len(d.texts[id]); total > mostDecoded {
			return broken(modelPartName, "the texts of its pieces have more than %d bytes in total", mostDecoded)
		}
	}
	if n := doc.normal; n.dummyPrefix || n.noExtra {
		d.first = func(id int32) string {
			if k := doc.pieces[id].kind; k == pieceControl || k == pieceUnknown {
				return d.texts[id]
			}
			return strings.ReplaceAll(strings.TrimPrefix(doc.pieces[id].text, spaceMark), spaceMark, " ")
		}
		d.firstText = n.noExtra
	}
	return nil
}

// loadPieceModel builds the encoding model.
func (t *Tokenizer) loadPieceModel() error {
	sp, doc := t.sp, t.sp.file
	for i, p := range doc.pieces {
		if p.kind == pieceUser {
			sp.user.add(p.text, addedToken{ID: int32(i), Content: p.text})
		}
	}
	if doc.byteTokens {
		sp.bytes = new([256]int32)
		for b := range sp.bytes {
			id, ok := t.ids[byteToken(b)]
			if !ok || doc.pieces[id].kind != pieceByte {
				return broken(modelPartName, "it uses byte fallback but has no piece %s", byteToken(b))
			}
			sp.bytes[b] = id
		}
	}
	sp.cut = !doc.suffix && doc.normal.escape && !slices.ContainsFunc(doc.pieces, func(p spPiece) bool {
		return p.kind == pieceNormal && untilMark(p.text) < len(p.text)
	})
	if doc.kind == kindUnigram {
		sp.loadUnigram()
		return nil
	}
	return sp.loadMerges(&t.model)
}

// loadMerges converts scores to ranks: the pair whose merged piece has the highest score is merged first, and the
// leftmost of several such pairs.
func (sp *spModel) loadMerges(m *bpe) error {
	doc := sp.file
	*m = bpe{byteFallback: sp.bytes != nil, fuseUnk: true, unk: doc.unk, ids: make(map[string]int32, len(doc.pieces))}
	scores := make([]float32, 0, len(doc.pieces))
	for i, p := range doc.pieces {
		if p.kind == pieceNormal {
			m.ids[p.text] = int32(i)
			scores = append(scores, p.score)
		}
	}
	slices.SortFunc(scores, func(a, b float32) int { return cmp.Compare(b, a) })
	scores = slices.Compact(scores)
	if sp.bytes != nil {
		m.symbols = *sp.bytes
	}
	type joint struct{ left, right, id, rank int32 }
	var joints []joint
	for text, id := range m.ids {
		rank, _ := slices.BinarySearchFunc(scores, doc.pieces[id].score, func(a, b float32) int { return cmp.Compare(b, a) })
		for at, r := range text {
			if size := utf8.RuneLen(r); len(text) > size {
				if _, ok := m.ids[text[at:at+size]]; !ok {
					return unsupported(modelPartName, "its piece %s contains %s, which is not a piece", shown(text),
						shown(text[at:at+size]))
				}
			}
			if at == 0 {
				continue
			}
			left, okLeft := m.ids[text[:at]]
			right, okRight := m.ids[text[at:]]
			if okLeft && okRight {
				joints = append(joints, joint{left, right, id, int32(rank)})
			}
		}
		if len(joints) > mostMerges {
			return broken(modelPartName, "it has more than %d possible merges", mostMerges)
		}
	}
	m.merges = newPairs(len(joints))
	for _, j := range joints {
		m.merges.put(j.left, j.right, merge{j.rank, j.id})
	}
	m.findWhole(len(doc.pieces), false)
	return nil
}

// isModel reports whether file is a tokenizer.model: it begins with the protobuf key of its first piece.
func isModel(file []byte) bool { return len(file) > 0 && file[0] == 1<<3|2 }

// looksLikeRanks reports whether file is in tiktoken's format, which some models ship under the name tokenizer.model:
// one base64 text, a space and a number per line.
func looksLikeRanks(file []byte) bool {
	line, _, _ := bytes.Cut(file[:min(len(file), 200)], []byte("\n"))
	var word string
	var rank int
	n, err := fmt.Sscanf(string(line), "%s %d", &word, &rank)
	return err == nil && n == 2
}
