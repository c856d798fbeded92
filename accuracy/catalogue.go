package accuracy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parts of the product catalogue's score (docs/reference/scoring-rules.md#product-catalogue).

const (
	levelSeparator = " > "
	padCategory    = "<|__PRED_CATEGORY_PAD__|>"
	padBrand       = "<|__PRED_BRAND_PAD__|>"
)

// pathLevels compares two category paths. It returns the number of levels in their common prefix, in the prediction and
// in the truth.
func pathLevels(predicted, truth string) (common, predictedLevels, trueLevels int) {
	p, t := strings.Split(predicted, levelSeparator), strings.Split(truth, levelSeparator)
	for common < min(len(p), len(t)) && pyStrip(p[common]) == pyStrip(t[common]) {
		common++
	}
	return common, len(p), len(t)
}

// hierarchicalF1 returns the harmonic mean of precision and recall over all levels of all samples.
func hierarchicalF1(common, predicted, truth int) float64 {
	if predicted == 0 || truth == 0 {
		return 0
	}
	return fScore(float64(common)/float64(predicted), float64(common)/float64(truth)).F
}

// brandThreshold is the similarity above which two brands count as equal.
const brandThreshold = 90

// brandRatio returns the similarity of two brands from 0 to 100, ignoring case and surrounding white space.
func brandRatio(predicted, truth string) float64 {
	a, b := []rune(pyLower(pyStrip(predicted))), []rune(pyLower(pyStrip(truth)))
	n := len(a) + len(b)
	if n == 0 {
		return 100
	}
	indel := n - 2*commonSubsequence(a, b)
	return 100 * (1 - float64(indel)/float64(n))
}

// brandMatch reports whether two brands count as equal.
func brandMatch(predicted, truth string) bool { return brandRatio(predicted, truth) > brandThreshold }

// commonSubsequence returns the length of the longest common subsequence.
func commonSubsequence(a, b []rune) int {
	row := make([]int, len(b)+1)
	for _, r := range a {
		diagonal := 0
		for j, other := range b {
			above := row[j+1]
			if r == other {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

// secondhandF1 returns the F1 of the positive class, or 0 if it is undefined.
func secondhandF1(predicted, truth []bool) float64 {
	var both, wrong int
	for i, p := range predicted {
		switch {
		case p && truth[i]:
			both++
		case p != truth[i]:
			wrong++
		}
	}
	if both == 0 {
		return 0
	}
	return 2 * float64(both) / float64(2*both+wrong)
}

// catalogueProduct is the answer about one product.
type catalogueProduct struct {
	Category   string
	Brand      string
	Secondhand bool
}

// maxProductBytes is the maximum length of an answer; real ones have a few hundred bytes.
const maxProductBytes = 1 << 20

// parseProduct parses an answer by the reference's strict schema: one JSON object with exactly the three fields.
func parseProduct(answer string) (catalogueProduct, error) {
	var p catalogueProduct
	switch {
	case len(answer) > maxProductBytes:
		return p, errors.New("the answer is longer than 1 MiB")
	case !utf8.ValidString(answer):
		return p, errors.New("the answer is not valid UTF-8")
	}
	d := json.NewDecoder(strings.NewReader(answer))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return p, errors.New("the answer is not a JSON object")
	}
	fields := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return p, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return p, err
		}
		key := name.(string)
		if err := p.set(key, bytes.TrimSpace(raw)); err != nil {
			return p, err
		}
		fields[key] = true
	}
	if _, err := d.Token(); err != nil {
		return p, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return p, errors.New("the JSON object is followed by other text")
	}
	if len(fields) < 3 {
		return p, errors.New("one of category, brand, is_secondhand is missing")
	}
	return p, nil
}

func (p *catalogueProduct) set(name string, raw []byte) error {
	switch name {
	case "category", "brand":
		if raw[0] != '"' {
			return errors.New(name + " is not a string")
		}
		if hasHalfPair(raw) {
			return errors.New(name + " contains half of a surrogate pair")
		}
		into := &p.Category
		if name == "brand" {
			into = &p.Brand
		}
		return json.Unmarshal(raw, into)
	case "is_secondhand":
		var ok bool
		if p.Secondhand, ok = leniently(raw); !ok {
			return errors.New("is_secondhand is not a boolean")
		}
		return nil
	}
	return errors.New("the field " + strconv.Quote(shortened(name)) + " is not allowed")
}

// escapes matches the escapes of a JSON string.
var escapes = regexp.MustCompile(`\\(?:[^u]|u([0-9a-fA-F]{4}))`)

// hasHalfPair reports whether a JSON string has an escaped surrogate without its other half. The reference's reader
// rejects such a string; Go's reader would replace the surrogate.
func hasHalfPair(raw []byte) bool {
	const none = -1
	high := none // position after a high surrogate
	for _, m := range escapes.FindAllSubmatchIndex(raw, -1) {
		if m[2] < 0 {
			continue
		}
		code, _ := strconv.ParseUint(string(raw[m[2]:m[3]]), 16, 32) // four hexadecimal digits
		isFirst, isSecond := code>>10 == 0xd800>>10, code>>10 == 0xdc00>>10
		switch {
		case isSecond && m[0] != high, !isSecond && high != none:
			return true
		case isFirst:
			high = m[1]
		default:
			high = none
		}
	}
	return high != none
}

// truthWords are the strings that the reference's schema accepts as booleans, in any case.
var truthWords = map[string]bool{
	"true": true, "t": true, "yes": true, "y": true, "on": true, "1": true,
	"false": false, "f": false, "no": false, "n": false, "off": false, "0": false,
}

// leniently parses a JSON value as a boolean.
func leniently(raw []byte) (value, ok bool) {
	switch raw[0] {
	case 't', 'f':
		return raw[0] == 't', true
	case '"':
		var word string
		if json.Unmarshal(raw, &word) != nil {
			return false, false
		}
		value, ok = truthWords[strings.ToLower(word)]
		return value, ok
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return n == 1, err == nil && (n == 0 || n == 1)
}
