package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// Summary describes a set of lengths. The percentile is the element trunc(n*p) of the sorted lengths, as in LoadGen.
type Summary struct {
	Min    int     `json:"min"`
	Mean   float64 `json:"mean"`
	Median int     `json:"median"`
	P99    int     `json:"p99"`
	Max    int     `json:"max"`
}

// Statistics are the figures of a data set. Texts and reference outputs that were not kept count as absent.
type Statistics struct {
	Samples     int     `json:"samples"`
	WithIDs     int     `json:"with_ids"`
	WithText    int     `json:"with_text"`
	WithTarget  int     `json:"with_target"`
	InputTokens Summary `json:"input_tokens"` // prompt lengths in tokens, of the samples whose length is known
	InputBytes  Summary `json:"input_bytes"`  // lengths of the prompts' texts in bytes
	TargetWords Summary `json:"target_words"` // lengths of the reference outputs in words

	TargetTokens *Summary `json:"target_tokens,omitempty"` // of the reference outputs; nil: not counted
	Images       int      `json:"images"`
	ImageBytes   Summary  `json:"image_bytes"`   // sizes of the image files in bytes
	MessageBytes Summary  `json:"message_bytes"` // sizes of the messages in bytes, with images in base64
}

// Stats returns the figures of a data set.
func Stats(d *Dataset) Statistics {
	s := Statistics{Samples: len(d.Samples)}
	var bytes, words, messages []int
	for i := range d.Samples {
		sample := &d.Samples[i]
		if len(sample.InputIDs) > 0 {
			s.WithIDs++
		}
		if sample.Input != "" {
			s.WithText++
			bytes = append(bytes, len(sample.Input))
		}
		if sample.Target != "" {
			s.WithTarget++
			words = append(words, len(strings.Fields(sample.Target)))
		}
		if n := sample.MessageBytes; n > 0 {
			messages = append(messages, n)
		}
	}
	images := ImageSizes(d)
	s.InputTokens, s.InputBytes, s.TargetWords = Summarize(InputLengths(d)), Summarize(bytes), Summarize(words)
	s.Images, s.ImageBytes, s.MessageBytes = len(images), Summarize(images), Summarize(messages)
	return s
}

// CountTokens sets InputLen of prompts without ids, and returns the lengths of the reference outputs in tokens.
func CountTokens(d *Dataset, count func(text string) int) []int {
	var targets []int
	for i := range d.Samples {
		s := &d.Samples[i]
		if s.InputLen == 0 && s.Input != "" {
			s.InputLen = count(s.Input)
		}
		if s.Target != "" {
			targets = append(targets, count(s.Target))
		}
	}
	return targets
}

// ImageSizes returns the sizes of the image files in bytes, in the order of the samples that have one.
func ImageSizes(d *Dataset) []int {
	var sizes []int
	for i := range d.Samples {
		if n := d.Samples[i].ImageBytes; n > 0 {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

// InputLengths returns the known prompt lengths in tokens, in the order of the samples.
func InputLengths(d *Dataset) []int {
	lengths := make([]int, 0, len(d.Samples))
	for i := range d.Samples {
		if n := d.Samples[i].InputLen; n > 0 {
			lengths = append(lengths, n)
		}
	}
	return lengths
}

// Summarize describes values. If there are no values, it returns the zero Summary.
func Summarize(values []int) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	sum := 0
	for _, v := range sorted {
		sum += v
	}
	n := len(sorted)
	return Summary{Min: sorted[0], Mean: float64(sum) / float64(n), Median: sorted[n/2], P99: sorted[n*99/100],
		Max: sorted[n-1]}
}

// Bins counts values in at most n ranges of equal size starting at low. If there are no values, there are no ranges.
func Bins(values []int, n int) (low, step int, counts []int) {
	if len(values) == 0 || n < 1 {
		return 0, 1, nil
	}
	low = slices.Min(values)
	high := slices.Max(values)
	step = (high-low)/n + 1
	counts = make([]int, (high-low)/step+1)
	for _, v := range values {
		counts[(v-low)/step]++
	}
	return low, step, counts
}

// Histogram returns a text chart of values: one line per range with its count and a bar of at most width marks.
func Histogram(values []int, bins, width int) []string {
	low, step, counts := Bins(values, bins)
	if len(counts) == 0 || width < 1 {
		return nil
	}
	high := slices.Max(values)
	digits, most := len(fmt.Sprint(high)), slices.Max(counts)
	lines := make([]string, len(counts))
	for i, n := range counts {
		from := low + i*step
		// Round up, so that a range with any value has a mark.
		lines[i] = strings.TrimRight(fmt.Sprintf("%*d..%-*d %*d %s", digits, from, digits, min(from+step-1, high),
			len(fmt.Sprint(most)), n,
			strings.Repeat("#", (n*width+most-1)/most)), " ")
	}
	return lines
}
