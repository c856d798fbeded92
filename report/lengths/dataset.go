package lengths

import (
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

// OfDataset reads a data set file and computes its statistics. Token counts come from the file's ids; count, which may
// be nil, counts those of other texts. The returned data set describes the file and has no samples. Errors are those of
// datasets.Open.
func OfDataset(path string, o datasets.Options, row *models.Row, count func(text string) int) (*Report,
	*datasets.Dataset, error) {
	o.SizesOnly, o.KeepText, o.KeepTarget, o.Keep = true, true, true, referenceIDs(row)
	tokens, characters := newPair("tokens"), newPair("characters")
	messages, images := length("message bytes", "bytes"), length("image bytes", "bytes")
	r := &Report{}
	d, err := datasets.Each(path, o, func(s *datasets.Sample) error {
		r.Samples++
		input, output := s.InputLen, 0
		if len(s.Kept) > 0 {
			output = elements(s.Kept[0])
		}
		if count != nil && input == 0 && s.Input != "" {
			input = count(s.Input)
		}
		if count != nil && output == 0 && s.Target != "" {
			output = count(s.Target)
		}
		tokens.add(input, output)
		characters.add(utf8.RuneCountInString(s.Input), utf8.RuneCountInString(s.Target))
		if s.MessageBytes > 0 {
			messages.Add(s.MessageBytes)
		}
		if s.ImageBytes > 0 {
			images.Add(s.ImageBytes)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	r.Measures = present(append(append(tokens.measures(), characters.measures()...), messages, images))
	return r, d, nil
}

// referenceIDs returns the column of a benchmark that has the reference output as token ids; nil if it has none. Such a
// column has no role, because requests and scoring do not read it.
func referenceIDs(row *models.Row) []string {
	for _, c := range row.Columns {
		if c.Type == "ids" && c.Role == "" {
			return []string{c.Name}
		}
	}
	return nil
}

// elements returns the number of elements of a JSON array of numbers.
func elements(array string) int {
	inside := strings.TrimSpace(strings.Trim(strings.TrimSpace(array), "[]"))
	if inside == "" {
		return 0
	}
	return strings.Count(inside, ",") + 1
}
