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
const synthTemplate = "Tell this in brief:\n{input}\nIn brief:"

// Bounds of synthetic texts: prompts in tokens with the beginning-of-text id, outputs so that an answer with its end token stays
// below 128 tokens.
const (
	synthLongestPrompt = 2000
	synthLongestOutput = 126 // tokens
)

// promptQuantiles are the sixteenths of the prompt length in tokens: a right-skewed shape around that of news articles.
// Integers throughout, so that a seed gives the same set on every machine.
var promptQuantiles = [17]int{64, 230, 290, 340, 385, 430, 475, 520, 570, 620, 680, 745, 820, 910, 1030, 1220, synthLongestPrompt}

// SynthRecord is one record of a synthetic data set.
type SynthRecord struct {
	Template string  // wraps Input; empty where the schema has no template, then Input is the whole prompt
	Input    string  // text of the prompt
	InputIDs []int32 // the whole prompt with SynthBOS before it
	Output   string  // reference output: sentences on lines of their own
}

// Synth returns n records of a synthetic data set for a benchmark. They depend on the seed alone: the first records of a
// longer set are those of a shorter one. An error says why the benchmark's schema cannot be made.
func Synth(row *models.Row, n int, seed int64) ([]SynthRecord, error) {
	var records []SynthRecord
	err := eachSynth(row, n, seed, func(_ int, r SynthRecord) error {
		records = append(records, r)
		return nil
	})
	return records, err
}

// SynthDataset returns a synthetic data set in memory, with texts and reference outputs.
func SynthDataset(row *models.Row, n int, seed int64) (*Dataset, error) {
	samples := make([]Sample, 0, max(n, 0))
	err := eachSynth(row, n, seed, func(_ int, r SynthRecord) error {
		samples = append(samples, Sample{InputIDs: r.InputIDs, Input: r.Input, Target: r.Output})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return New(samples, ForRow(row))
}

// WriteSynth writes a synthetic data set in the benchmark's own schema, as a JSON array with one record a line.
func WriteSynth(w io.Writer, row *models.Row, n int, seed int64) error {
	out := bufio.NewWriterSize(w, 1<<16)
	line := []byte("[\n")
	err := eachSynth(row, n, seed, func(i int, r SynthRecord) error {
		line = appendRecord(line, row, i, r)
		if i < n-1 {
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
		return fmt.Errorf("cannot write a synthetic data set of %d records for %s: %w", n, row.Name, err)
	}
	return nil
}

// eachSynth makes n records, one after the other.
func eachSynth(row *models.Row, n int, seed int64, take func(i int, r SynthRecord) error) error {
	if n < 1 {
		return fmt.Errorf("a synthetic data set needs at least 1 record, not %d", n)
	}
	if row.Vocabulary > 0 && row.Vocabulary <= int(SynthBOS) {
		return fmt.Errorf("no synthetic data set can be made for %s: its vocabulary of %d ids has no room for the synthetic one, which goes up to %d", row.Name, row.Vocabulary, SynthBOS)
	}
	template := ""
	for _, c := range row.Columns {
		switch {
		case isTemplate(c):
			template = synthTemplate
		case c.Required && c.Role == "", c.Role == roleMessages && c.Required:
			return fmt.Errorf("no synthetic data set can be made for %s: its column %q cannot be invented; use the benchmark's own data set", row.Name, c.Name)
		}
	}
	for i := range n {
		g := generator{state: uint64(seed)*0x9e3779b97f4a7c15 + uint64(i)}
		g.next()
		if err := take(i, g.record(template)); err != nil {
			return err
		}
	}
	return nil
}

// isTemplate tells the column that holds the prompt's template, by model family, in the summarisation sets.
func isTemplate(c models.Column) bool {
	return c.Name == "instruction" && strings.Contains(c.Type, "object")
}

// appendRecord appends a record as JSON, its fields in the order of the schema.
func appendRecord(dst []byte, row *models.Row, i int, r SynthRecord) []byte {
	dst = append(dst, '{')
	field := func(name string) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ", "...)
		}
		dst = append(appendText(dst, name), ": "...)
	}
	for _, c := range row.Columns {
		switch {
		case c.Role == roleIDs:
			field(c.Name)
			dst = appendIDArray(dst, r.InputIDs)
		case c.Role == roleInput:
			field(c.Name)
			dst = appendText(dst, r.Input)
		case c.Role == roleTarget:
			field(c.Name)
			dst = appendText(dst, r.Output)
		case c.Role == roleID:
			field(c.Name)
			dst = appendText(dst, "synth-"+strconv.Itoa(i))
		case isTemplate(c):
			field(c.Name)
			dst = append(appendText(append(dst, `{"llama": `...), r.Template), '}')
		}
	}
	return append(dst, '}')
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
	return strings.Replace(template, "{input}", input, 1)
}
