package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// confForm selects how LoadGen parses a key's value.
type confForm int

const (
	formCount   confForm = iota // 64-bit whole number
	formSmall                   // whole number that LoadGen truncates to 32 bits
	formSwitch                  // 0 or 1
	formNonzero                 // 0, 1 or 2; LoadGen treats 2 like 1
	formMode                    // 0 SubmissionRun, 1 AccuracyOnly, 2 PerformanceOnly, 3 FindPeakPerformance
	formMS                      // whole milliseconds
	formFloatMS                 // milliseconds with a fraction, above 0
	formRate                    // number above 0
	formPercent                 // percentage above 0 and below 100
	formAny                     // any number; only verification scripts read it
)

// confKey is one key of LoadGen's configuration files (docs/reference/loadgen.md#configuration-keys).
type confKey struct {
	name      string
	scenarios []string // scenarios in which LoadGen reads the key; nil for all
	form      confForm
	fractions []string // scenarios in which a value of form formMS may have a fraction
	gate      string   // switch that must be on for LoadGen to read the key
	readOnly  bool     // LoadGen reads the key only from its built-in mlperf.conf
	audit     bool     // key that occurs only in an audit.config, for the verification scripts
}

// The switches that enable other keys.
const (
	keyTokenLatencies = "use_token_latencies"
	keyInferLatencies = "infer_token_latencies"
)

var confKeys = []confKey{
	{name: "mode", form: formMode},
	{name: "qsl_rng_seed", form: formCount, readOnly: true},
	{name: "sample_index_rng_seed", form: formCount, readOnly: true},
	{name: "schedule_rng_seed", form: formCount, readOnly: true},
	{name: "accuracy_log_probability", form: formPercent, readOnly: true},
	{name: "test05", form: formSwitch, readOnly: true},
	{name: "test05_qsl_rng_seed", form: formCount, readOnly: true},
	{name: "test05_sample_index_rng_seed", form: formCount, readOnly: true},
	{name: "test05_schedule_rng_seed", form: formCount, readOnly: true},
	{name: keyTokenLatencies, form: formSwitch},
	{name: "ttft_latency", form: formMS, scenarios: []string{"Server"}, gate: keyTokenLatencies},
	{name: "tpot_latency", form: formMS, scenarios: []string{"Server"}, gate: keyTokenLatencies},
	{name: keyInferLatencies, form: formSwitch},
	{name: "token_latency_scaling_factor", form: formCount, gate: keyInferLatencies},
	{name: "target_latency_percentile", form: formPercent, scenarios: []string{"SingleStream", "MultiStream", "Server"}},
	{name: "samples_per_query", form: formCount, scenarios: []string{"MultiStream"}},
	{name: "target_latency", form: formMS, scenarios: []string{"SingleStream", "MultiStream", "Server"},
		fractions: []string{"SingleStream", "MultiStream"}},
	{name: "performance_issue_unique", form: formSwitch},
	{name: "performance_issue_same", form: formSwitch},
	{name: "performance_issue_same_index", form: formCount},
	{name: "sample_concatenate_permutation", form: formSwitch},
	{name: "coalesce_queries", form: formNonzero, scenarios: []string{"Server"}},
	{name: "max_async_queries", form: formSmall, scenarios: []string{"Server"}},
	{name: "min_duration", form: formMS},
	{name: "max_duration", form: formMS},
	{name: "min_query_count", form: formCount},
	{name: "max_query_count", form: formCount},
	{name: "performance_sample_count_override", form: formCount},
	{name: "accuracy_sample_count_override", form: formCount},
	{name: "target_qps", form: formRate, scenarios: []string{"Server", "Offline"}},
	{name: "print_timestamps", form: formSwitch},
	{name: "accuracy_log_rng_seed", form: formCount},
	{name: "accuracy_log_sampling_target", form: formCount},
	{name: "test07_accuracy_threshold", form: formAny, audit: true},
	{name: "test09_min_output_tokens", form: formAny, audit: true},
	{name: "test09_max_output_tokens", form: formAny, audit: true},
}

var confScenarios = []string{"SingleStream", "MultiStream", "Server", "Offline"}

// confModels are the model keys of LoadGen's mlperf.conf (docs/reference/loadgen.md#values-of-mlperfconf).
var confModels = []string{
	"resnet50", "ssd-mobilenet", "retinanet", "bert", "dlrm", "dlrm-v2", "dlrm-v3", "rnnt", "gptj", "mixtral-8x7b",
	"llama2-70b", "llama2-70b-interactive", "llama3_1-405b", "llama3_1-405b-interactive",
	"llama3_1-8b", "llama3_1-8b-edge", "llama3_1-8b-interactive", "stable-diffusion-xl", "wan-2.2-t2v-a14b",
	"rgat", "pointpainting", "deepseek-r1", "deepseek-r1-interactive", "whisper", "qwen3-vl-235b-a22b", "yolo", "3d-unet",
	"gpt-oss-120b", "gpt-oss-120b-interactive",
}

// LoadGenModels returns the model keys of LoadGen's built-in mlperf.conf.
func LoadGenModels() []string { return slices.Clone(confModels) }

func findConfKey(name string) *confKey {
	for i := range confKeys {
		if confKeys[i].name == name {
			return &confKeys[i]
		}
	}
	return nil
}

func confKeyNames() []string {
	names := make([]string, len(confKeys))
	for i := range confKeys {
		names[i] = confKeys[i].name
	}
	return names
}

// reads reports whether LoadGen reads the key in that scenario.
func (k *confKey) reads(scenario string) bool {
	return scenario == "*" || k.scenarios == nil || slices.Contains(k.scenarios, scenario)
}

// check returns an error if LoadGen would not read text as the number that it appears to be.
func (k *confKey) check(text, scenario string) error {
	form := k.form
	if slices.Contains(k.fractions, scenario) {
		form = formFloatMS
	}
	switch form {
	case formRate, formFloatMS:
		_, err := parseConfFloat(text, 0, math.Inf(1))
		return err
	case formPercent:
		_, err := parseConfFloat(text, 0, 100)
		return err
	case formAny:
		_, err := parseConfFloat(text, math.Inf(-1), math.Inf(1))
		return err
	}
	n, err := parseConfCount(text)
	if err != nil {
		return err
	}
	if form == formMS && scenario == "*" && n == 0 && len(k.fractions) > 0 {
		return fmt.Errorf("would also set the expected latency of SingleStream to 0, and that test never ends: name the " +
			"scenario")
	}
	if most := confMost[form]; most > 0 && n > most {
		return fmt.Errorf("is above %d", most)
	}
	return nil
}

// confMost is the largest number of each form. LoadGen converts milliseconds to nanoseconds in 64 bits.
var confMost = map[confForm]uint64{
	formSwitch:  1,
	formNonzero: 2,
	formMode:    3,
	formSmall:   math.MaxInt32,
	formMS:      math.MaxInt64 / 1_000_000,
}

// parseConfCount parses decimal and 0x numbers. It rejects a leading 0, which C reads as octal.
func parseConfCount(text string) (uint64, error) {
	hex, isHex := strings.CutPrefix(text, "0x")
	switch {
	case text == "":
		return 0, fmt.Errorf("has no value")
	case isHex:
		if n, err := strconv.ParseUint(hex, 16, 64); err == nil {
			return n, nil
		}
	case len(text) > 1 && text[0] == '0' && strings.Trim(text, "01234567") == "":
		return 0, fmt.Errorf("has a leading 0, which LoadGen reads as octal")
	default:
		n, err := strconv.ParseUint(text, 10, 64)
		if err == nil {
			return n, nil
		}
		if strings.Trim(text, "0123456789") == "" {
			return 0, fmt.Errorf("does not fit into 64 bits; LoadGen would silently use another number")
		}
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return 0, fmt.Errorf("must be a whole number without sign; LoadGen would ignore the text after the digits")
	}
	return 0, fmt.Errorf("is not a whole number")
}

// parseConfFloat parses a decimal number strictly between low and high.
func parseConfFloat(text string, low, high float64) (float64, error) {
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, fmt.Errorf("is not a decimal number")
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("is not a decimal number")
	}
	if f <= low || f >= high {
		if math.IsInf(high, 1) {
			return 0, fmt.Errorf("must be above %v", low)
		}
		return 0, fmt.Errorf("must be above %v and below %v", low, high)
	}
	return f, nil
}
