package accuracy

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wordList decodes ids to the texts in a list.
type wordList struct {
	words   []string
	special map[int32]bool
	cleanUp bool
}

var spacesBefore = strings.NewReplacer(" .", ".", " ?", "?", " !", "!", " ,", ",")

func (w wordList) Decode(ids []int32, skipSpecial bool) string {
	var b strings.Builder
	for _, id := range ids {
		if !skipSpecial || !w.special[id] {
			b.WriteString(w.words[id])
		}
	}
	text := b.String()
	if w.cleanUp {
		text = spacesBefore.Replace(text)
		for _, c := range [][2]string{{" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"},
			{" 're", "'re"}} {
			text = strings.ReplaceAll(text, c[0], c[1])
		}
	}
	return text
}

func TestGoldenRougePipeline(t *testing.T) {
	type pipelineCase struct {
		Log                json.RawMessage
		DType, Style       string
		CleanUp            bool `json:"clean_up_tokenization_spaces"`
		Decoded, Processed []string
		Result             map[string]any
		Printed            string
	}
	var file struct {
		Vocab, Targets []string
		SpecialIDs     []int32 `json:"special_ids"`
	}
	goldenFile(t, "rouge_pipeline", &file)
	special := map[int32]bool{}
	for _, id := range file.SpecialIDs {
		special[id] = true
	}
	var refs []Reference
	for _, target := range file.Targets {
		refs = append(refs, Reference{Target: target})
	}
	punkt := testPunkt(t)
	eachCase(t, "rouge_pipeline", func(t *testing.T, c pipelineCase) {
		log := filepath.Join(t.TempDir(), "mlperf_log_accuracy.json")
		require.NoError(t, os.WriteFile(log, c.Log, 0o644))
		for i, text := range c.Decoded {
			require.Equal(t, c.Processed[i], punkt.Joined(text))
		}
		name := c.Style
		if _, err := Find(name); err != nil {
			name += "-99"
		}
		r, err := Score(context.Background(), Input{Benchmark: name, Log: log, References: refs, Punkt: punkt,
			DType:   DType(c.DType),
			Decoder: wordList{file.Vocab, special, c.CleanUp}, PerSample: true})
		require.NoError(t, err)
		require.Len(t, r.Metrics, len(c.Result))
		var text strings.Builder
		require.NoError(t, r.WriteText(&text))
		require.Equal(t, "Results\n\n"+c.Printed+"\n", text.String())
		require.Len(t, r.PerSample, len(c.Decoded))
		for i, s := range r.PerSample {
			require.Equal(t, codePoints(c.Processed[i]), s.Chars)
		}
	})
}
