package datasets

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image/color"
	"image/jpeg"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// imageOfJSON is an image in base64, whose bytes depend on Go's encoders.
var imageOfJSON = regexp.MustCompile(`("[a-z_0-9]+"): "(/9j|iVBOR)[A-Za-z0-9+/=]+"`)

// synthSums are the first eight bytes of the SHA-256 of seed 7's set of 24 records with programs, by benchmark, without
// images. A seed makes the same set in every version, so that results can be compared.
var synthSums = map[string]string{
	"deepseek-r1": "8c3423ff56ef3624", "generic": "1a1113ad021e3c4d",
	"gpt-oss-120b": "103ab03dc8170d1b", "gptj": "c9cf98da1842540f",
	"llama2-70b-99": "8588e9582b5593dd", "llama2-70b-99.9": "8588e9582b5593dd",
	"llama3.1-405b": "bc75ef3d6217f395", "llama3.1-8b": "69e827183bd8f484",
	"llama3.1-8b-edge": "69e827183bd8f484", "mixtral-8x7b": "2b0e6ad09fa6c709",
	"qwen3-vl-235b-a22b": "a35a6be9cd3e72c6", "qwen3.6-27b": "cdce3f46c8c2b137",
}

func TestASeedKeepsItsSet(t *testing.T) {
	got := map[string]string{}
	for _, row := range models.Rows() {
		var file bytes.Buffer
		require.NoError(t, SynthSet{Row: row, Samples: 24, Seed: 7, Code: true}.Write(&file))
		sum := sha256.Sum256(imageOfJSON.ReplaceAll(file.Bytes(), []byte("$1")))
		got[row.Name] = hex.EncodeToString(sum[:8])
	}
	require.Equal(t, synthSums, got)
}

// Every second image is a JPEG, and the colours of the others tell their number.
func TestSyntheticImages(t *testing.T) {
	for _, i := range []int{1, 3, 0x10205, 0xff01ff, 0, 2} {
		var text string
		require.NoError(t, json.Unmarshal(synthImage(i), &text))
		b, err := base64.StdEncoding.DecodeString(text)
		require.NoError(t, err)
		require.Equal(t, synthImageFormat(i), imageFormat(b))
		if i%2 == 0 {
			m, err := jpeg.Decode(bytes.NewReader(b))
			require.NoError(t, err)
			require.Equal(t, 16, m.Bounds().Dx())
			continue
		}
		m, err := png.Decode(bytes.NewReader(b))
		require.NoError(t, err)
		require.Equal(t, []int{0, 0, 16, 16}, []int{m.Bounds().Min.X, m.Bounds().Min.Y, m.Bounds().Max.X, m.Bounds().Max.Y})
		for y := range 16 {
			for x := range 16 {
				want := color.NRGBA{R: uint8(i), G: uint8(16*x + i/256), B: uint8(16*y + i/65536), A: 255}
				require.Equal(t, want, color.NRGBAModel.Convert(m.At(x, y)), "%d at %d, %d", i, x, y)
			}
		}
	}
}

// A product has three to six category paths of three parts, and any of them may be the correct one.
func TestSyntheticCatalogue(t *testing.T) {
	m, err := models.Find("qwen3-vl-235b-a22b")
	require.NoError(t, err)
	records, err := Synth(m.Row, 400, 1)
	require.NoError(t, err)
	counts, places, secondhand := map[int]int{}, map[int]int{}, 0
	columns := m.Row.Scoring.Columns
	for _, r := range records {
		var paths []string
		require.NoError(t, json.Unmarshal([]byte(r.Fields["potential_product_categories"]), &paths))
		counts[len(paths)]++
		text := func(column string) (s string) {
			require.NoError(t, json.Unmarshal([]byte(r.Fields[column]), &s))
			return s
		}
		at := -1
		for i, path := range paths {
			if path == text(columns.Target) {
				at = i
			}
			parts, first := strings.Split(path, " > "), strings.Split(paths[0], " > ")
			require.Len(t, parts, 3)
			require.Equal(t, first[0], parts[0])
			require.Equal(t, 2-min(i%3/2, 1), len(strings.Fields(parts[2])))
			if i%3 != 2 {
				require.Equal(t, first[1], parts[1])
			}
		}
		require.GreaterOrEqual(t, at, 0)
		places[at]++
		if r.Fields[columns.Secondhand] == "true" {
			secondhand++
		}
		require.Len(t, strings.Fields(text(columns.Brand)), 1)
		require.Len(t, strings.Fields(text("product_title")), 5)
		require.LessOrEqual(t, len(strings.Fields(text("product_description"))), 60)
	}
	require.Len(t, counts, 4)
	require.Len(t, places, 6)
	require.InDelta(t, 50, secondhand, 25)
	for n := 3; n <= 6; n++ {
		require.Greater(t, counts[n], 50, n)
	}
	require.Equal(t, "a b", firstWords(" a  b c", 2))
	require.Equal(t, "a b c", firstWords("a b\nc", 9))
}

// A vocabulary must have room for the synthetic one, whose last word is its last id.
func TestVocabulariesWithRoom(t *testing.T) {
	const last = int(synthBareWord) + SynthWords - 1
	for size, fits := range map[int]bool{0: true, last: false, last + 1: true} {
		_, err := Synth(&models.Row{Name: "n", Vocabulary: size}, 1, 1)
		require.Equal(t, fits, err == nil, size)
		if !fits {
			require.ErrorContains(t, err, fmt.Sprintf("which goes up to %d", last+1))
		}
	}
	for _, c := range []struct {
		size int
		bos  int32
		want int32
	}{{0, 5, SynthBOS}, {int(SynthBOS), 5, 5}, {int(SynthBOS) + 1, 5, SynthBOS}, {20000, -1, 0}, {20000, 0, 0}} {
		require.Equal(t, c.want, synthBOS(&models.Row{Vocabulary: c.size, BOS: c.bos}), c)
	}
	_, err := Synth(&models.Row{Name: "n"}, 1, 1)
	require.NoError(t, err)
	records, err := Synth(&models.Row{Name: "n", MaxInputTokens: 100}, 50, 1)
	require.NoError(t, err)
	for _, r := range records {
		require.LessOrEqual(t, len(r.InputIDs), 100)
	}
}

// Ids outside of the synthetic vocabulary have no text.
func TestTextsOfIDs(t *testing.T) {
	v := SynthVocabulary()
	for id, want := range map[int32]string{-1: "", 0: "\x00", 255: "\xff", 256: "", synthSpacedWord - 1: "",
		synthSpacedWord: " " + word(0), synthSpacedWord + SynthWords - 1: " " + word(SynthWords-1),
		synthSpacedWord + SynthWords: "", synthBareWord - 1: "", synthBareWord: word(0),
		synthBareWord + SynthWords - 1: word(SynthWords - 1), synthBareWord + SynthWords: ""} {
		require.Equal(t, want, v.Decode([]int32{id}), id)
	}
	require.Equal(t, []string{"balara", "zanezel", "balarazel"}, []string{word(0), word(SynthWords - 1),
		word(0) + word(15)[4:]})
}

// A set is synthetic if the first samples are, and a chat's image does not count.
func TestFirstSamplesOfASyntheticSet(t *testing.T) {
	ids, other := Sample{InputIDs: []int32{synthBareWord}}, Sample{InputIDs: []int32{5}}
	text := Sample{Input: strings.Repeat(word(3)+" ", 9)}
	chat := Sample{Messages: []byte(`[{"role":"user","content":"` + strings.Repeat(word(3)+" ", 20) + `"}]`)}
	require.False(t, invented(&Dataset{}))
	for _, good := range []Sample{ids, text, chat} {
		require.True(t, invented(&Dataset{Samples: []Sample{good}}))
		require.False(t, invented(&Dataset{Samples: []Sample{good, other}}))
		many := make([]Sample, looksAt+1)
		for i := range many {
			many[i] = good
		}
		many[looksAt] = other
		require.True(t, invented(&Dataset{Samples: many}))
		many[looksAt-1] = other
		require.False(t, invented(&Dataset{Samples: many}))
	}
	long := append(bytes.Clone(chat.Messages), strings.Repeat(" Zq", looksAtBytes)...)
	require.False(t, invented(&Dataset{Samples: []Sample{{Messages: long}}}))
	image := append(bytes.Clone(chat.Messages), ";base64,"+strings.Repeat("Zq/", looksAtBytes)...)
	require.True(t, invented(&Dataset{Samples: []Sample{{Messages: image}}}))
	for value, marks := range map[string]bool{"true": true, "false": false, `"false"`: false, `"true"`: true, "1": true} {
		require.Equal(t, marks, isMark([]byte(value)), value)
	}
	require.True(t, Synthetic(&Dataset{marked: true}))
}
