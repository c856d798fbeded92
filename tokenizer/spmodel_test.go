package tokenizer

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// spCases contains results of the sentencepiece package (testdata/sentencepiece/make.py).
type spCases struct {
	Encode []struct {
		Text string  `json:"text"`
		IDs  []int32 `json:"ids"`
	} `json:"encode"`
	Decode []struct {
		IDs  []int32 `json:"ids"`
		Text string  `json:"text"`
	} `json:"decode"`
}

const spFolder = "testdata/sentencepiece"

func compareModels(t *testing.T, folder string) {
	t.Helper()
	models, err := filepath.Glob(filepath.Join(folder, "*.model"))
	require.NoError(t, err)
	require.NotEmpty(t, models)
	for _, path := range models {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".model"), func(t *testing.T) {
			tok, err := Open(path)
			require.NoError(t, err)
			text, err := os.ReadFile(strings.TrimSuffix(path, ".model") + ".json")
			require.NoError(t, err)
			var cases spCases
			require.NoError(t, json.Unmarshal(text, &cases))
			require.NotEmpty(t, cases.Encode)
			for _, c := range cases.Encode {
				require.Equal(t, c.IDs, append([]int32{}, tok.Encode(c.Text, false)...), "%q", c.Text)
			}
			for _, c := range cases.Decode {
				require.Equal(t, c.Text, tok.Decode(c.IDs, true), "%v", c.IDs)
				require.Equal(t, c.Text, streamed(tok, c.IDs, true), "%v", c.IDs)
			}
		})
	}
}

func TestModelsEqualSentencePiece(t *testing.T) { compareModels(t, spFolder) }

// TestModelsTrainedHere compares with the sentencepiece package, if it is installed, on models whose character table is
// too large for the repository.
func TestModelsTrainedHere(t *testing.T) {
	if out, err := exec.Command("python3", "-c", "import sentencepiece").CombinedOutput(); err != nil {
		t.Skipf("the package sentencepiece is not installed (pip install sentencepiece): %s", out)
	}
	folder := t.TempDir()
	out, err := exec.Command("python3", filepath.Join(spFolder, "make.py"), folder, "unigram_nmt", "bpe_nfkc_cf", "bpe",
		"unigram").CombinedOutput()
	require.NoError(t, err, "%s", out)
	compareModels(t, folder)
}

// message encodes protobuf fields: numbers as varints, floats as 32 bits, texts and messages with their lengths.
func message(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		number := uint64(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = binary.AppendUvarint(binary.AppendUvarint(b, number<<3), uint64(v))
		case float64:
			b = binary.LittleEndian.AppendUint32(binary.AppendUvarint(b, number<<3|5), math.Float32bits(float32(v)))
		case string:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, number<<3|2), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, number<<3|2), uint64(len(v))), v...)
		}
	}
	return b
}

func TestModelRefusals(t *testing.T) {
	unk := message(1, "<unk>", 3, pieceUnknown)
	table := func(units []uint32, texts string) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
		for _, u := range units {
			b = binary.LittleEndian.AppendUint32(b, u)
		}
		return append(b, texts...)
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"cut", []byte{0x0a, 0x05, 0x0a}, "it is not a valid tokenizer.model"},
		{"no message", []byte{0x0f}, "not a protobuf message"},
		{"no pieces", message(2, message(3, kindBPE)), "it has no pieces"},
		{"no unknown", message(1, message(1, "a")), "it has no unknown piece"},
		{"empty piece", message(1, message(2, 1.5)), "its piece 0 is empty or not UTF-8"},
		{"no UTF-8", message(1, message(1, "\xff")), "its piece 0 is empty or not UTF-8"},
		{"twice", message(1, unk, 1, unk), `its pieces 0 and 1 are both "<unk>"`},
		{"long", message(1, message(1, strings.Repeat("a", 300))), "has more than 256 bytes"},
		{"score", message(1, message(1, "a", 2, math.NaN())), `the score of its piece "a" is not a number`},
		{"unused", message(1, unk, 1, message(1, "a", 3, pieceUnused)), `its piece "a" is of type 5, which is not supported`},
		{"kind", message(1, unk, 2, message(3, 4)),
			"its model is of type 4, neither unigram (1) nor BPE (2), which is not supported"},
		{"bytes", message(1, unk, 2, message(35, 1)), "it uses byte fallback but has no piece <0x00>"},
		{"no byte", message(1, unk, 1, message(1, "x", 3, pieceByte)),
			`its piece "x" has type BYTE but names no byte`},
		{"character", message(1, unk, 1, message(1, "ab"), 1, message(1, "a"), 2, message(3, kindBPE)),
			`its piece "ab" contains "b", which is not a piece`},
		{"denormalizer", message(1, unk, 5, message(2, "x")), "it has a denormalizer"},
		{"table", message(1, unk, 3, message(2, "abc")), "it has 3 bytes"},
		{"table's array", message(1, unk, 3, message(2, "\xff\xff\x00\x00a")), "its array has 65535 of 1 bytes"},
		{"replacement", message(1, unk, 3, message(2, table([]uint32{0}, strings.Repeat("x", 300)))),
			"a replacement has 300 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(parseModel, c.file, nil)
			require.ErrorContains(t, err, c.want)
			var e *Error
			require.ErrorAs(t, err, &e)
		})
	}
	_, err := load(parseModel, message(1, unk, 5, message(1, "identity", 2, "")), nil)
	require.NoError(t, err, "an empty denormalizer changes nothing")
	_, err = load(parseModel, message(1, unk), []byte("{"))
	require.ErrorContains(t, err, "tokenizer_config.json: it is not valid JSON")
}

// The fields that are read, by their numbers in sentencepiece_model.proto; all others are passed over.
func TestFieldsOfAModel(t *testing.T) {
	trained := spFile{kind: kindBPE, suffix: true, byteTokens: true, bos: 7, eos: -1, unkText: "?"}
	doc := &spFile{}
	for number := 1; number < 60; number++ {
		if number != 44 && number != 3 && number != 41 && number != 42 {
			require.NoError(t, doc.readTrainer(message(number, 1)))
		}
	}
	require.NoError(t, doc.readTrainer(message(3, kindBPE, 41, 7, 42, -1, 44, "?", 45, "x", 43, 9)))
	require.Equal(t, trained, *doc)
	require.NoError(t, doc.readTrainer(message(24, 0, 35, 0, 44, strings.Repeat("x", mostAddedBytes+1))))
	require.Equal(t, []any{false, false, mostAddedBytes}, []any{doc.suffix, doc.byteTokens, len(doc.unkText)})

	for number, want := range map[int]spNormal{1: {}, 3: {dummyPrefix: true}, 4: {noExtra: true}, 5: {escape: true}, 6: {},
		7: {}} {
		var n spNormal
		require.NoError(t, n.read(message(number, 1)))
		require.Equal(t, want, n, number)
		require.NoError(t, n.read(message(number, 0)))
		require.Equal(t, spNormal{}, n, number)
	}
}

// Pieces are as long, and as many bytes together, as the limits allow.
func TestLimitsOfPieces(t *testing.T) {
	doc := &spFile{bytes: mostPiecesBytes - mostPieceBytes}
	require.ErrorContains(t, doc.readPiece(message(1, strings.Repeat("a", mostPieceBytes+1))), "more than 256 bytes")
	require.NoError(t, doc.readPiece(message(1, strings.Repeat("a", mostPieceBytes), 2, -1.5, 3, pieceUser)))
	require.Equal(t, []spPiece{{strings.Repeat("a", mostPieceBytes), -1.5, pieceUser}}, doc.pieces)
	require.ErrorContains(t, doc.readPiece(message(1, "b")), "more than 8388608 bytes together")
	doc = &spFile{pieces: make([]spPiece, mostID)}
	require.NoError(t, doc.readPiece(message(1, "a")))
	require.ErrorContains(t, doc.readPiece(message(1, "b")), "it has more than")
	for kind := range 8 {
		err := (&spFile{}).readPiece(message(1, "a", 3, kind))
		require.Equal(t, kind >= pieceNormal && kind <= pieceByte && kind != pieceUnused, err == nil, kind)
	}
}

// An unknown character scores 10 less than the worst piece. Encode chooses it if the other pieces of its segmentation
// make up for that.
func TestUnknownCharacterAgainstAPiece(t *testing.T) {
	const unknown, pair, single = 0, 1, 2
	for score, want := range map[float64][]int32{9.5: {pair}, 10.5: {unknown, single}} {
		tok, err := load(parseModel, message(1, message(1, "<unk>", 3, pieceUnknown), 1, message(1, "ab", 2, -20.0),
			1, message(1, "b", 2, score), 3, message(1, "identity", 3, 0)), nil)
		require.NoError(t, err)
		require.Equal(t, want, tok.Encode("ab", false), "a piece that scores %v", score)
	}
}

// Of two segmentations with the same score, the one whose last piece begins first is chosen.
func TestSegmentationsWithTheSameScore(t *testing.T) {
	const pair = 1
	for _, other := range []string{"a", "b"} { // with it the last piece is an unknown character, or a known one
		tok, err := load(parseModel, message(1, message(1, "<unk>", 3, pieceUnknown), 1, message(1, "ab", 2, -20.0),
			1, message(1, other, 2, 10.0), 3, message(1, "identity", 3, 0)), nil)
		require.NoError(t, err)
		require.Equal(t, []int32{pair}, tok.Encode("ab", false), other)
	}
}

// A user-defined piece has the best score times its number of bytes, less 0.1, which is better than most pieces. If
// good pieces are rare, an unknown character has a better score, but the user-defined piece is used nevertheless.
func TestScoreOfAUsersPiece(t *testing.T) {
	const unknown, a, b, users = 0, 1, 2, 3
	for score, want := range map[float64][]int32{-1.05: {a, b}, -1.15: {users}} {
		tok, err := load(parseModel, message(1, message(1, "<unk>", 3, pieceUnknown), 1, message(1, "a", 2, -1.0),
			1, message(1, "b", 2, score), 1, message(1, "ab", 3, pieceUser), 3, message(1, "identity", 3, 0)), nil)
		require.NoError(t, err)
		require.Equal(t, want, tok.Encode("ab", false), "a piece that scores %v", score)
	}
	tok, err := load(parseModel, message(1, message(1, "<unk>", 3, pieceUnknown), 1, message(1, "a", 2, -20.0),
		1, message(1, "\u732b", 3, pieceUser), 3, message(1, "identity", 3, 0)), nil)
	require.NoError(t, err)
	require.Equal(t, []int32{2, a, 2, unknown}, tok.Encode("\u732ba\u732bb", false))
}

func TestPieceOfAToken(t *testing.T) {
	tok, err := Open(filepath.Join(spFolder, "unigram_bytes.model"))
	require.NoError(t, err)
	require.Nil(t, tok.Piece(-1))
	require.Nil(t, tok.Piece(int32(tok.VocabSize())))
	var text []byte
	for _, id := range tok.Encode("the keeper 猫", false) {
		text = append(text, tok.Piece(id)...)
	}
	require.Equal(t, "the keeper 猫", strings.TrimSpace(string(text)), "the bytes of a character come one by one")
}

func TestModelsOwnTokens(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(spFolder, "bpe.model"))
	require.NoError(t, err)
	for config, want := range map[string][2]bool{"": {true, false}, `{"add_bos_token": false}`: {},
		`{"add_bos_token": true, "add_eos_token": true}`: {true, true}} {
		tok, err := load(parseModel, file, []byte(config))
		require.NoError(t, err)
		plain, full := tok.Encode("the keeper", false), tok.Encode("the keeper", true)
		if want[0] {
			plain = append([]int32{1}, plain...)
		}
		if want[1] {
			plain = append(plain, 2)
		}
		require.Equal(t, plain, full, config)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "tokenizer.model")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	tok, err := Open(folder)
	require.NoError(t, err)
	require.Equal(t, "<s> the keeper</s>", tok.Decode(append(append([]int32{1}, tok.Encode("the keeper", false)...), 2),
		false))
	require.Equal(t, "the keeper", tok.Decode(append([]int32{1}, tok.Encode("the keeper", false)...), true))
	require.NoError(t, os.WriteFile(path, []byte("IQ== 0\nIg== 1\n"), 0o600))
	_, err = Open(path)
	require.ErrorContains(t, err, "it is in tiktoken's format")
}

func FuzzParseModel(f *testing.F) {
	models, err := filepath.Glob(filepath.Join(spFolder, "*.model"))
	require.NoError(f, err)
	for _, path := range models {
		file, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(file, " the  keeper 灯x\xff▁ light<b>")
	}
	f.Add(message(1, message(1, "<unk>", 3, pieceUnknown), 1, message(1, "▁a", 2, -1.5), 3,
		message(2, "\x04\x00\x00\x00\x00\x00\x00\x00a\x00")), "a b")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tok, err := load(parseModel, file, nil)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			return
		}
		ids := append(tok.Encode(text[:min(len(text), 1000)], true), 0, 1, -1, int32(tok.VocabSize()))
		for _, id := range ids[:len(ids)-4] {
			require.True(t, tok.has(id))
		}
		require.Equal(t, tok.Decode(ids, true), streamed(tok, ids, true))
	})
}

// BenchmarkModelEncode encodes with small models of both kinds.
func BenchmarkModelEncode(b *testing.B) {
	for _, name := range []string{"bpe", "unigram_bytes"} {
		b.Run(name, func(b *testing.B) {
			tok, err := Open(filepath.Join(spFolder, name+".model"))
			require.NoError(b, err)
			text := strings.Repeat("the keeper of a lighthouse writes down what he sees: ships, gulls, weather and the price "+
				"of oil. ", 600)
			var ids []int32
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			begun := cpu()
			for b.Loop() {
				ids = tok.AppendIDs(ids[:0], text, false)
			}
			perSecond(b, len(ids), begun)
		})
	}
}

// A byte that is no UTF-8 becomes U+FFFD; that character itself stays.
func TestReplacementCharacters(t *testing.T) {
	sp := &spModel{file: &spFile{}}
	for text, want := range map[string]int{"\ufffdx": 3, "\xffx": 1, "\xc3": 1, "éx": 2, "x": 1, "\xe2\x82": 1} {
		to, length := sp.prefix(text)
		require.Equal(t, want, length, "%q", text)
		if text[0] >= 0x80 && text[0] != "é"[0] || text == "\xc3" {
			require.Equal(t, "\ufffd", to, "%q", text)
		}
	}
}
