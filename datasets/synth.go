package datasets

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/models"
)

// synthTemplate wraps the text of a synthetic prompt; {input} stands for the text.
const synthTemplate = "Tell this in brief:\n" + inputPlace + "\nIn brief:"

// inputPlace is where a template of a data set has the prompt's text.
const inputPlace = "{input}"

// Bounds of synthetic texts: prompts in tokens with the beginning-of-text id, outputs so that an answer with its end
// token stays below 128 tokens.
const (
	synthLongestPrompt = 2000
	synthLongestOutput = 126 // tokens
)

// promptQuantiles are the sixteenths of the prompt length in tokens: a right-skewed shape around that of news articles.
// Integers throughout, so that a seed gives the same set on every machine.
var promptQuantiles = [17]int{64, 230, 290, 340, 385, 430, 475, 520, 570, 620, 680, 745, 820, 910, 1030, 1220,
	synthLongestPrompt}

// SynthRecord is one record of a synthetic data set.
type SynthRecord struct {
	Template string            // wraps Input; empty where the schema has no template, then Input is the whole prompt
	Input    string            // text of the prompt
	InputIDs []int32           // the whole prompt with the schema's beginning-of-text id before it
	Output   string            // reference output
	Fields   map[string]string // values of other columns, as JSON text: ground truth as the benchmark's scorer reads it
}

// SynthSet is a synthetic data set of a benchmark. Its records depend on the seed alone: the first records of a longer
// set are those of a shorter one.
type SynthSet struct {
	Row     *models.Row
	Samples int
	Seed    int64
	// Code adds the parts whose answers are programs, which only a judge in a sandbox can score.
	Code bool
}

// Synth returns the n records of a synthetic data set without programs. An error says why the benchmark's schema cannot
// be made.
func Synth(row *models.Row, n int, seed int64) ([]SynthRecord, error) {
	var records []SynthRecord
	err := SynthSet{Row: row, Samples: n, Seed: seed}.each(func(_ int, r *SynthRecord) error {
		records = append(records, *r)
		return nil
	})
	return records, err
}

// WriteSynth writes a synthetic data set without programs.
func WriteSynth(w io.Writer, row *models.Row, n int, seed int64) error {
	return SynthSet{Row: row, Samples: n, Seed: seed}.Write(w)
}

// Write writes the set in the benchmark's own schema, as a JSON array with one record a line.
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

// each makes the records, one after the other.
func (s SynthSet) each(take func(i int, r *SynthRecord) error) error {
	if s.Samples < 1 {
		return fmt.Errorf("a synthetic data set needs at least 1 record, not %d", s.Samples)
	}
	row := s.Row
	if row.Vocabulary > 0 && row.Vocabulary < int(synthBareWord)+SynthWords {
		return fmt.Errorf("no synthetic data set can be made for %s: its vocabulary of %d ids has no room for the "+
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
				return fmt.Errorf("no synthetic data set can be made for %s: its column %q cannot be invented; use the "+
					"benchmark's own data set", row.Name, name)
			}
		}
		if err := take(i, &r); err != nil {
			return err
		}
	}
	return nil
}

// missing names a column that every record must have and the synthetic ones have not.
func missing(row *models.Row, r *SynthRecord) string {
	for _, c := range row.Columns {
		if c.Required && synthValue(c, row, 0, r) == nil {
			return c.Name
		}
	}
	return ""
}

// synthBOS is the id that prompts begin with: the synthetic one, or the model's own where that has no place in its
// vocabulary.
func synthBOS(row *models.Row) int32 {
	if row.Vocabulary == 0 || row.Vocabulary > int(SynthBOS) {
		return SynthBOS
	}
	return max(row.BOS, 0)
}

// appendRecord appends a record as JSON, its fields in the order of the schema. A column that cannot be invented is
// left out.
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
		dst = append(append(appendText(dst, c.Name), ": "...), value...)
	}
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ", "...)
	}
	return append(append(appendText(dst, synthMark), ": true"...), '}')
}

// synthValue is a column's value as JSON text; nil: there is none.
func synthValue(c models.Column, row *models.Row, i int, r *SynthRecord) []byte {
	if v, ok := r.Fields[c.Name]; ok {
		return []byte(v)
	}
	switch c.Role {
	case roleIDs:
		return appendIDArray(nil, r.InputIDs)
	case roleInput:
		return appendText(nil, r.Input)
	case roleTarget:
		return appendText(nil, r.Output)
	case roleID:
		return appendText(nil, "synth-"+strconv.Itoa(i))
	case roleTemplate:
		if !strings.Contains(c.Type, "object") {
			return appendText(nil, r.Template)
		}
		return append(appendText([]byte(`{"llama": `), r.Template), '}')
	case roleImage:
		return synthImage(i)
	}
	if make := synthExtras[c.Name]; make != nil {
		return make(i, r)
	}
	return nil
}

// synthExtras are columns that real files have beside those that have a role, by name.
var synthExtras = map[string]func(i int, r *SynthRecord) []byte{
	"system_prompt":        func(int, *SynthRecord) []byte { return []byte(`""`) },
	"question":             func(_ int, r *SynthRecord) []byte { return appendText(nil, r.Input) },
	"templated_text_input": func(_ int, r *SynthRecord) []byte { return appendText(nil, prompt(r.Template, r.Input)) },
	"origin": func(i int, _ *SynthRecord) []byte {
		return appendText(nil,
			synthOrigins[i%len(synthOrigins)])
	},
	"tok_output":           synthOutputIDs,
	"tok_ref_output":       synthOutputIDs,
	"tok_input_len":        synthInputLength,
	"tok_input_length":     synthInputLength,
	"tok_output_length":    synthOutputLength,
	"tok_ref_output_len":   synthOutputLength,
	"ref_accuracy":         func(int, *SynthRecord) []byte { return []byte("100.0") },
	"product_image_format": func(i int, _ *SynthRecord) []byte { return appendText(nil, synthImageFormat(i)) },
}

// synthOrigins are the parts of the set that llama2-70b's rows come from (docs/reference/benchmarks.md#data-sets).
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

// appendText appends a JSON string.
func appendText(dst []byte, text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string into memory cannot fail
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
}

// prompt puts a text into its template.
func prompt(template, input string) string {
	if template == "" {
		return input
	}
	return strings.Replace(template, inputPlace, input, 1)
}
