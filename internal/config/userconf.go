package config

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// KV is one key of LoadGen's configuration with its value as text.
type KV struct {
	Key  string
	Text string
}

// userConfRow maps a key of user.conf to a setting.
type userConfRow struct {
	key       string
	setting   string
	scenarios []string // LoadGen scenarios in which key and setting mean the same; nil: all scenarios
	toSetting func(text string) string
	toConf    func(v value) (string, error)
}

var userConfRows = []userConfRow{
	{"target_qps", "target-qps", nil, sameText, plainFloat},
	{"min_duration", "min-duration", nil, appendMS, wholeMS},
	{"max_duration", "max-duration", nil, appendMS, wholeMS},
	{"min_query_count", "min-queries", nil, decimal, plainInt},
	{"max_query_count", "max-queries", nil, decimal, plainInt},
	{"ttft_latency", "ttft-limit", nil, appendMS, wholeMS},
	{"tpot_latency", "tpot-limit", nil, appendMS, wholeMS},
	{"target_latency_percentile", "latency-percentile", nil, sameText, plainFloat},
	{"target_latency", "expected-latency", []string{"SingleStream"}, appendMS, fractionMS},
	{"coalesce_queries", "server-coalesce-queries", nil, decimal, plainText},
}

// userConfModes maps LoadGen's mode to the value of --mode.
var userConfModes = map[string]string{"1": "accuracy", "2": "performance"}

// ApplyUserConf sets the values of the file for this model key and LoadGen scenario in the FromUserConf layer. It
// returns the keys without a setting unchanged, for the generated user.conf. For gates, see Conf.Resolve.
func (e *Effective) ApplyUserConf(c *Conf, model, scenario string, gates ...string) (rest []KV, err error) {
	entries, err := c.Resolve(model, scenario, gates...)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		from := Origin{FromUserConf, fmt.Sprintf("%s line %d", c.name, entry.Line)}
		name, text, err := entry.setting(scenario)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", from, err)
		case name == "":
			rest = append(rest, KV{entry.Key, entry.Text})
		default:
			if err := e.Set(name, text, from); err != nil {
				return nil, err
			}
		}
	}
	return rest, nil
}

// setting returns the setting of an entry and its text, or "" if the key has no setting.
func (e Entry) setting(scenario string) (name, text string, err error) {
	if e.Key == "mode" {
		mode, ok := userConfModes[decimal(e.Text)]
		if !ok {
			return "", "", fmt.Errorf("%s = %s selects a mode that cannot be run as one test: remove the line and use "+
				"--mode performance, accuracy or submission", e.name(), e.Text)
		}
		return "mode", mode, nil
	}
	for _, row := range userConfRows {
		if row.key == e.Key && (row.scenarios == nil || slices.Contains(row.scenarios, scenario)) {
			return row.setting, row.toSetting(e.Text), nil
		}
	}
	return "", "", nil
}

// UserConf returns the keys of the generated user.conf for a LoadGen scenario: one per setting that has a value and a
// key that LoadGen reads in the scenario, then the keys of rest that are not among them. A value that LoadGen cannot
// represent is an error.
func (e *Effective) UserConf(scenario string, rest []KV) ([]KV, error) {
	var kvs []KV
	for _, row := range userConfRows {
		if row.scenarios != nil && !slices.Contains(row.scenarios, scenario) || !findConfKey(row.key).reads(scenario) {
			continue
		}
		got, ok := e.lookup(row.setting)
		if !ok {
			continue
		}
		text, err := row.toConf(got.value)
		if err != nil {
			return nil, fmt.Errorf("%s %s %w", got.origin.of(row.setting), format(got.value), err)
		}
		kvs = append(kvs, KV{row.key, text})
	}
	for _, kv := range rest {
		if !slices.ContainsFunc(kvs, func(have KV) bool { return have.Key == kv.Key }) {
			kvs = append(kvs, kv)
		}
	}
	return kvs, nil
}

// WriteUserConf writes a user.conf for LoadGen: the header as comments, then one line "model.scenario.key = value" per
// key. If LoadGen would misread a key or value, WriteUserConf returns an error and writes nothing.
func WriteUserConf(w io.Writer, header []string, model, scenario string, kvs []KV) error {
	var text strings.Builder
	for _, line := range header {
		fmt.Fprintf(&text, "# %s\n", oneLine(line))
	}
	for _, kv := range kvs {
		fmt.Fprintf(&text, "%s.%s.%s = %s\n", model, scenario, kv.Key, kv.Text)
	}
	if _, err := ParseConf("to be generated", strings.NewReader(text.String()), UserConf, model); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.WriteString(text.String()) // Flush returns the error of a failed write
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write user.conf: %w", err)
	}
	return nil
}

func sameText(text string) string { return text }

// decimal converts a count, which may be hexadecimal, to decimal.
func decimal(text string) string {
	n, err := parseConfCount(text)
	if err != nil {
		return text
	}
	return strconv.FormatUint(n, 10)
}

// appendMS converts milliseconds to a duration.
func appendMS(text string) string {
	if f, err := parseConfFloat(text, 0, math.Inf(1)); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64) + "ms"
	}
	return decimal(text) + "ms"
}

func plainInt(v value) (string, error) {
	return strconv.FormatInt(v.(int64), 10), nil
}

// plainFloat returns the shortest text that parses to the same number, without an exponent.
func plainFloat(v value) (string, error) {
	return strconv.FormatFloat(v.(float64), 'f', -1, 64), nil
}

func plainText(v value) (string, error) { return v.(string), nil }

// wholeMS rejects fractions of a millisecond, because LoadGen truncates them for most keys.
func wholeMS(v value) (string, error) {
	d := v.(time.Duration)
	if d%time.Millisecond != 0 {
		return "", fmt.Errorf("is not a whole number of milliseconds, as LoadGen requires")
	}
	return strconv.FormatInt(d.Milliseconds(), 10), nil
}

// fractionMS keeps fractions of a millisecond, as LoadGen does for the SingleStream latency.
func fractionMS(v value) (string, error) {
	return plainFloat(float64(v.(time.Duration)) / float64(time.Millisecond))
}
