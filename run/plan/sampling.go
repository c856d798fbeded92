package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Requests contains the parameters of the test's requests: sampling and the format of answers.
type Requests struct {
	*Test
	data *Data
}

// parameter is one sampling parameter: its setting, its twin for accuracy tests, and its name in a request and in a
// generation config file.
type parameter struct {
	setting string
	wire    string
	file    string
	of      func(models.Sampling) string // value as text; "" if it is not sent
}

// accuracyTwin is the prefix of settings that apply to accuracy tests only.
const accuracyTwin = "accuracy-"

// parameters are in the order in which breaches are reported.
var parameters = []parameter{
	{"max-tokens", "max_tokens", "max_new_tokens", func(s models.Sampling) string { return someCount(s.MaxTokens) }},
	{"min-tokens", "min_tokens", "min_new_tokens", func(s models.Sampling) string { return someCount(s.MinTokens) }},
	{"temperature", "temperature", "temperature", func(s models.Sampling) string { return number(s.Temperature) }},
	{"top-p", "top_p", "top_p", func(s models.Sampling) string { return number(s.TopP) }},
	{"top-k", "top_k", "top_k", topKText},
	{"seed", "seed", "seed", func(s models.Sampling) string { return wholeText(s.Seed) }},
}

func someCount(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func wholeText(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// topKText returns "" for 0, -1 and nil, which all consider every candidate
// (docs/reference/benchmarks.md#where-sources-disagree).
func topKText(s models.Sampling) string {
	if s.TopK == nil || *s.TopK <= 0 {
		return ""
	}
	return strconv.Itoa(*s.TopK)
}

// readSampling copies the accuracy-only settings of an accuracy test to the settings that they replace, and fills unset
// ones from the generation config file.
func (r *Requests) readSampling() error {
	c := r.Config
	if r.Mode == models.Accuracy {
		for _, d := range parameters {
			twin := accuracyTwin + d.setting
			if !c.IsSet(twin) {
				continue
			}
			// The origin is a flag, wherever the twin was set, because the twin is the more specific setting.
			from := config.Origin{Layer: config.FromFlag, Where: "--" + twin + " (" + c.Origin(twin).String() + ")"}
			if err := c.Set(d.setting, c.Text(twin), from); err != nil {
				return exit.Usage(exit.CodeSetting, "", "%w", err)
			}
		}
	}
	path := c.String("generation-config")
	if path == "" {
		return nil
	}
	values, notices, err := readGenerationConfig(path)
	if err != nil {
		return exit.Usage(exit.CodeGenerationConfig, "", "%w", err)
	}
	r.notices = append(r.notices, notices...)
	from := config.Origin{Layer: config.FromFile, Where: path}
	for _, d := range parameters {
		text, ok := values[d.file]
		if !ok || c.IsSet(d.setting) {
			continue
		}
		if err := c.Set(d.setting, text, from); err != nil {
			return exit.Usage(exit.CodeGenerationConfig, "", "the generation config: %w", err)
		}
	}
	return nil
}

// largestGenerationConfig bounds the file.
const largestGenerationConfig = 1 << 20

// withoutEffect are keys of Hugging Face's generation_config.json that no request carries: the server reads them
// itself.
var withoutEffect = []string{
	"bos_token_id", "do_sample", "eos_token_id", "pad_token_id", "repetition_penalty", "transformers_version",
}

// readGenerationConfig reads a JSON object of sampling parameters, by their names in Hugging Face's file. Keys that
// begin with "_" are comments (docs/how-to/accuracy.md#sampling). An unknown or double key is an error that names it.
func readGenerationConfig(path string) (values map[string]string, notices []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("the generation config cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largestGenerationConfig+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("reading the generation config: %w", err)
	case len(text) > largestGenerationConfig:
		return nil, nil, fmt.Errorf("the generation config %s has more than %d bytes", path, largestGenerationConfig)
	}
	values, ignored, err := generationValues(text)
	if err != nil {
		return nil, nil, fmt.Errorf("the generation config %s: %w", path, err)
	}
	if len(ignored) > 0 {
		notices = append(notices, fmt.Sprintf("the generation config %s: the server itself handles %s, so they are not "+
			"sent", path,
			strings.Join(ignored, ", ")))
	}
	return values, notices, nil
}

// generationValues parses the object. It returns each value as the text of a setting.
func generationValues(text []byte) (values map[string]string, ignored []string, err error) {
	var known []string
	for _, d := range parameters {
		known = append(known, d.file)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, errors.New("it is not a JSON object of parameters, such as {\"max_new_tokens\": 1024}")
	}
	values = map[string]string{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("it is not JSON: %w", err)
		}
		key := t.(string) // the decoder returns no other type for a key
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, nil, fmt.Errorf("the value of %.60q is not JSON: %w", key, err)
		}
		n, isNumber := v.(json.Number)
		switch _, double := values[key]; {
		case strings.HasPrefix(key, "_"):
		case slices.Contains(withoutEffect, key):
			ignored = append(ignored, key)
		case !slices.Contains(known, key):
			return nil, nil, fmt.Errorf("the key %.60q is not known; the known ones are %s", key, strings.Join(known, ", "))
		case double:
			return nil, nil, fmt.Errorf("the key %s occurs twice", key)
		case !isNumber:
			return nil, nil, fmt.Errorf("the value of %s is not a number", key)
		default:
			values[key] = n.String()
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("there is text after its object")
	}
	return values, ignored, nil
}

// Breaches returns the settings that the closed division does not allow for the benchmark. A row that is in no round
// has no such rules.
//
// The values are final once the plan is bound to its data set.
func (r *Requests) Breaches() []record.Breach {
	if len(rounds.Of(r.Row)) == 0 {
		return nil
	}
	var list []record.Breach
	sent, required := r.Sampling(), r.Row.Sampling[r.Mode]
	source := "sampling of " + r.Row.Name + " in " + string(r.Mode) + ": " + r.Row.Source
	for _, d := range parameters {
		if a, b := d.of(sent), d.of(required); a != b {
			list = append(list, record.NewBreach("sampling_"+d.wire, a, b, source))
		}
	}
	return slices.Concat(list, r.formatBreach(), r.templateBreach())
}

// templateBreach reports prompts that this program worded: a data set of raw fields has no prompts, and the rules fix
// their wording. A synthetic set has no wording to fix.
func (r *Requests) templateBreach() []record.Breach {
	ds := r.data.Dataset
	if ds == nil {
		ds = r.data.file
	}
	if ds == nil || ds.WithoutTemplate == 0 || r.data.synthetic {
		return nil
	}
	return []record.Breach{{Code: "prompt_template",
		Sent:     fmt.Sprintf("%d prompts in the program's own wording", ds.WithoutTemplate),
		Required: "the benchmark's prompt template (--prompt-template)",
		Source:   "prompts of " + r.Row.Name + ": " + r.Row.Source}}
}

// Sampling returns the parameters of requests: the row's, overridden by the configuration.
func (r *Requests) Sampling() models.Sampling {
	s, c := r.Row.Sampling[r.Mode], r.Config
	s.MaxTokens, s.MinTokens = c.Int("max-tokens"), c.Int("min-tokens")
	if c.Has("temperature") {
		t := c.Float("temperature")
		s.Temperature = &t
	}
	if c.Has("top-p") {
		t := c.Float("top-p")
		s.TopP = &t
	}
	if c.Has("top-k") {
		k := c.Int("top-k")
		s.TopK = &k
	}
	if c.Has("seed") {
		n := int64(c.Int("seed"))
		s.Seed = &n
	}
	return s
}

// SamplingFields returns the fields that requests carry, for the record.
func SamplingFields(s models.Sampling) map[string]any {
	m := map[string]any{}
	for name, n := range map[string]int{"max_tokens": s.MaxTokens, "min_tokens": s.MinTokens} {
		if n > 0 {
			m[name] = n
		}
	}
	for name, v := range map[string]*float64{"temperature": s.Temperature, "top_p": s.TopP} {
		if v != nil {
			m[name] = *v
		}
	}
	if s.TopK != nil {
		m["top_k"] = *s.TopK
	}
	if s.Seed != nil {
		m["seed"] = *s.Seed
	}
	if len(s.StopTokenIDs) > 0 {
		m["stop_token_ids"] = s.StopTokenIDs
	}
	if s.IgnoreEOS {
		m["ignore_eos"] = true
	}
	return m
}
