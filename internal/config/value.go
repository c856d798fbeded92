package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// value is the parsed value of a setting: a string, []string, int64, float64, time.Duration or bool. Bytes are int64.
type value any

// parse converts text to the setting's kind. The error completes the sentence "setting value ..." and does not name the
// setting itself.
func (s *Setting) parse(text string) (value, error) {
	if strings.ContainsRune(text, 0) {
		return nil, fmt.Errorf("contains a NUL byte")
	}
	trimmed := strings.TrimSpace(text)
	switch s.Kind {
	case String:
		return text, nil
	case Strings:
		return splitList(trimmed)
	case Int:
		n, err := strconv.ParseInt(trimmed, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("does not fit into 64 bits")
		}
		if err != nil {
			return nil, fmt.Errorf("is not a whole number")
		}
		return n, s.Range.check(float64(n))
	case Float:
		f, err := parseFloat(trimmed)
		if err != nil {
			return nil, err
		}
		return f, s.Range.check(f)
	case Duration:
		d, err := ParseDuration(trimmed)
		if err != nil {
			return nil, err
		}
		if limit := time.Duration(s.Range.Max); limit != 0 && d > limit {
			return nil, fmt.Errorf("is above %v", limit)
		}
		return d, s.Range.check(float64(d))
	case Bool:
		return parseBool(trimmed)
	case Bytes:
		n, err := parseBytes(trimmed)
		if err != nil {
			return nil, err
		}
		return n, s.Range.check(float64(n))
	case Enum:
		return s.parseEnum(trimmed)
	}
	return nil, fmt.Errorf("has the unknown kind %q", s.Kind)
}

func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsInf(f, 0), math.IsNaN(f):
		return 0, fmt.Errorf("is not a finite number")
	case err == nil:
		return f, nil
	}
	if _, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64); err == nil {
		return 0, fmt.Errorf("is not a number: write a decimal point, as in 1.5")
	}
	return 0, fmt.Errorf("is not a number")
}

func (r Range) check(v float64) error {
	switch {
	case v < 0 && !r.Negative:
		return fmt.Errorf("is below 0")
	case v == 0 && r.Positive:
		return fmt.Errorf("must be above 0")
	case r.Max != 0 && v > r.Max:
		return fmt.Errorf("is above %v", r.Max)
	}
	return nil
}

func (s *Setting) parseEnum(text string) (value, error) {
	for _, known := range s.Enum {
		if strings.EqualFold(known, text) {
			return known, nil
		}
	}
	key := strings.ReplaceAll(strings.ToLower(text), "_", "-")
	if known, ok := s.Values[key]; ok {
		return known, nil
	}
	for _, known := range s.Enum {
		if strings.EqualFold(known, key) {
			return known, nil
		}
	}
	return nil, errors.New(NotOneOf(text, s.Enum))
}

func splitList(text string) (value, error) {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("is an empty list")
	}
	return items, nil
}

// NotDuration is the error of ParseDuration about text that is no duration.
const NotDuration = "is not a duration: write 90s, 10m, 1.5h, 250ms, or whole seconds without a unit"

// ParseDuration parses a Go duration or whole seconds. The error completes the sentence "VALUE ...".
func ParseDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		if seconds > int64(math.MaxInt64/time.Second) || seconds < -int64(math.MaxInt64/time.Second) {
			return 0, fmt.Errorf("is longer than 292 years")
		}
		return time.Duration(seconds) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New(NotDuration)
	}
	return d, nil
}

var boolWords = map[string]bool{
	"true": true, "1": true, "yes": true, "on": true,
	"false": false, "0": false, "no": false, "off": false,
}

func parseBool(text string) (bool, error) {
	b, ok := boolWords[strings.ToLower(text)]
	if !ok {
		return false, fmt.Errorf("is neither true nor false")
	}
	return b, nil
}

// byteUnits lists longer suffixes first, so that KiB is not read as B.
var byteUnits = []struct {
	suffix string
	factor int64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}, {"b", 1},
}

func parseBytes(text string) (int64, error) {
	number, factor := strings.ToLower(text), int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("is not a size: write bytes as a whole number, or with KiB, MiB, GiB, TiB, kB, MB, GB, TB")
	}
	if n > math.MaxInt64/factor || n < -math.MaxInt64/factor {
		return 0, fmt.Errorf("is larger than any file")
	}
	return n * factor, nil
}

// format writes a value so that parse reads the same one.
func format(v value) string {
	switch v := v.(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, ",")
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case time.Duration:
		return formatDuration(v)
	}
	return fmt.Sprint(v)
}

// formatDuration omits the trailing zero parts that Go writes: 10m, not 10m0s.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
