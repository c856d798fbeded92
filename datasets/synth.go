package datasets

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/models"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// synthTemplate wraps the text of a synthetic prompt at {input}.
const synthTemplate = "Tell this in brief:\n" + inputPlace + "\nIn brief:"

// inputPlace is the place of the prompt's text in a template.
const inputPlace = "{input}"

// Limits for synthetic texts. Prompt lengths are in tokens and include the beginning-of-text id. The output limit keeps
// an answer with its end token below 128 tokens.
const (
	synthLongestPrompt = 2000
	synthLongestOutput = 126 // maximum length of a reference output in tokens
)

// promptQuantiles contains the 16-quantiles of the prompt length in tokens. The distribution is right-skewed, like that
// of news articles. They are integers, so that a seed produces the same set on every machine.
var promptQuantiles = [17]int{64, 230, 290, 340, 385, 430, 475, 520, 570, 620, 680, 745, 820, 910, 1030, 1220,
	synthLongestPrompt}

// SynthRecord is one record of a synthetic data set.
type SynthRecord struct {
	Template string  // wraps Input; empty if the schema has no template and Input is the whole prompt
	Input    string  // text of the prompt
	InputIDs []int32 // the whole prompt, starting with the schema's beginning-of-text id
	Output   string  // reference output
	// values of other columns as JSON text, by column: ground truth in the form that the benchmark's scorer reads
	Fields map[string]string
}

// SynthSet is a synthetic data set of a benchmark. Its records depend only on the seed: a longer set starts with the
// records of a shorter one.
type SynthSet struct {
	Row     *models.Row
	Samples int
	Seed    int64
	// Code includes the parts whose answers are programs, which only a judge in a sandbox can score.
	Code bool
}

// Synth returns the n records of a synthetic data set without programs, or an error if the benchmark's schema cannot be
// generated.
func Synth(row *models.Row, n int, seed int64) ([]SynthRecord, error) {
	var records []SynthRecord
	err := SynthSet{Row: row, Samples: n, Seed: seed}.each(func(_ int, r *SynthRecord) error {
		records = append(records, *r)
		return nil
	})
	return records, err
}

// Write writes the set in the benchmark's own schema, as a JSON array with one record per line.
func (s SynthSet) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	line := []byte("[\n")
	err := s.each(func(i int, r *SynthRecord) error {
		line = appendRecord(line, s.Row, i, r)
		if i < s.Samples-1 {
			line = append(line, ',')
		}
		_, err := out.Write(append(line, '\n'))
		line = line[:0]
		return err
	})
	if err == nil {
		_, err = out.WriteString("]\n")
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("cannot write a synthetic data set of %d records for %s: %w", s.Samples, s.Row.Name, err)
	}
	return nil
}

// each generates the records one by one.
func (s SynthSet) each(visit func(i int, r *SynthRecord) error) error {
	if s.Samples < 1 {
		return fmt.Errorf("a synthetic data set needs at least 1 record, not %d", s.Samples)
	}
	row := s.Row
	if row.Vocabulary > 0 && row.Vocabulary < int(synthBareWord)+SynthWords {
		return fmt.Errorf("cannot generate a synthetic data set for %s: its vocabulary of %d ids has no room for the "+
			"synthetic one, which goes up to %d", row.Name, row.Vocabulary, synthBareWord+SynthWords)
	}
	template := ""
	for _, c := range row.Columns {
		if c.Role == roleTemplate {
			template = synthTemplate
		}
	}
	for i := range s.Samples {
		g := generator{state: uint64(s.Seed)*0x9e3779b97f4a7c15 + uint64(i), bos: synthBOS(row), longest: synthLongestPrompt,
			least: row.MinOutputTokens}
		if row.MaxInputTokens > 0 {
			g.longest = min(g.longest, row.MaxInputTokens)
		}
		g.next()
		r := g.record(template)
		if form := synthForms[row.Scoring.Scorer]; form != nil {
			form(&g, i, s, &r)
		}
		if i == 0 {
			if name := missing(row, &r); name != "" {
				return fmt.Errorf("cannot generate a synthetic data set for %s: its column %q cannot be invented; use the "+
					"benchmark's own data set", row.Name, name)
			}
		}
		if err := visit(i, &r); err != nil {
			return err
		}
	}
	return nil
}

// missing returns the name of a required column that synthetic records lack, or "".
func missing(row *models.Row, r *SynthRecord) string {
	for _, c := range row.Columns {
		if c.Required && synthValue(c, row, 0, r) == nil {
			return c.Name
		}
	}
	return ""
}

// synthBOS returns the id that begins prompts: the synthetic one, or the model's own if its vocabulary is too small for
// it.
func synthBOS(row *models.Row) int32 {
	if row.Vocabulary == 0 || row.Vocabulary > int(SynthBOS) {
		return SynthBOS
	}
	return max(row.BOS, 0)
}

// appendRecord appends a record as JSON with its fields in the order of the schema, without columns that cannot be
// invented.
func appendRecord(dst []byte, row *models.Row, i int, r *SynthRecord) []byte {
	dst = append(dst, '{')
	for _, c := range row.Columns {
		value := synthValue(c, row, i, r)
		if value == nil {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ", "...)
		}
		dst = append(append(jsontext.AppendQuoted(dst, c.Name), ": "...), value...)
	}
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ", "...)
	}
	return append(append(jsontext.AppendQuoted(dst, synthMark), ": true"...), '}')
}

// synthValue returns the JSON text of a column's value, or nil.
func synthValue(c models.Column, row *models.Row, i int, r *SynthRecord) []byte {
	if v, ok := r.Fields[c.Name]; ok {
		return []byte(v)
	}
	switch c.Role {
	case roleIDs:
		return appendIDArray(nil, r.InputIDs)
	case roleInput:
		return jsontext.AppendQuoted(nil, r.Input)
	case roleTarget:
		return jsontext.AppendQuoted(nil, r.Output)
	case roleID:
		return jsontext.AppendQuoted(nil, "synth-"+strconv.Itoa(i))
	case roleTemplate:
		if !strings.Contains(c.Type, "object") {
			return jsontext.AppendQuoted(nil, r.Template)
		}
		return append(jsontext.AppendQuoted([]byte(`{"llama": `), r.Template), '}')
	case roleImage:
		return synthImage(i)
	}
	if make := synthExtras[c.Name]; make != nil {
		return make(i, r)
	}
	return nil
}

// synthExtras are columns without a role in real files, by name.
var synthExtras = map[string]func(i int, r *SynthRecord) []byte{
	"system_prompt": func(int, *SynthRecord) []byte { return []byte(`""`) },
	"question":      func(_ int, r *SynthRecord) []byte { return jsontext.AppendQuoted(nil, r.Input) },
	"templated_text_input": func(_ int, r *SynthRecord) []byte {
		return jsontext.AppendQuoted(nil,
			prompt(r.Template, r.Input))
	},
	"origin": func(i int, _ *SynthRecord) []byte {
		return jsontext.AppendQuoted(nil, synthOrigins[i%len(synthOrigins)])
	},
	"tok_output":           synthOutputIDs,
	"tok_ref_output":       synthOutputIDs,
	"tok_input_len":        synthInputLength,
	"tok_input_length":     synthInputLength,
	"tok_output_length":    synthOutputLength,
	"tok_ref_output_len":   synthOutputLength,
	"ref_accuracy":         func(int, *SynthRecord) []byte { return []byte("100.0") },
	"product_image_format": func(i int, _ *SynthRecord) []byte { return jsontext.AppendQuoted(nil, synthImageFormat(i)) },
}

// synthOrigins lists the parts of OpenOrca from which llama2-70b's rows come (docs/reference/benchmarks.md#data-sets).
var synthOrigins = []string{"cot", "niv", "flan", "t0"}

func synthOutputIDs(_ int, r *SynthRecord) []byte {
	return appendIDArray(nil, SynthVocabulary().Encode(r.Output))
}

func synthInputLength(_ int, r *SynthRecord) []byte {
	return strconv.AppendInt(nil, int64(len(r.InputIDs)), 10)
}

func synthOutputLength(_ int, r *SynthRecord) []byte {
	return strconv.AppendInt(nil, int64(len(SynthVocabulary().Encode(r.Output))), 10)
}

func appendIDArray(dst []byte, ids []int32) []byte {
	dst = append(dst, '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return append(dst, ']')
}

// prompt inserts a text into its template.
func prompt(template, input string) string {
	if template == "" {
		return input
	}
	return strings.Replace(template, inputPlace, input, 1)
}
