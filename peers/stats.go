package peers

import (
	"bufio"
	"encoding/json"
	"math"
	"slices"
)

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	key   string
	value any
}

func (o *object) add(key string, value any) { *o = append(*o, member{key, value}) }

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		key, _ := json.Marshal(m.key) // a string is always encoded
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}

// array is a JSON array whose values are made one by one.
type array struct {
	n     int
	value func(i int) any
}

// stream writes the array, with a line for each value.
func (a array) stream(w *bufio.Writer) error {
	for i := range a.n {
		w.WriteString(map[bool]string{true: "[\n", false: ",\n"}[i == 0])
		text, err := json.Marshal(a.value(i))
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	_, err := w.WriteString(map[bool]string{true: "[]", false: "\n]"}[a.n == 0])
	return err
}

// file returns the array as a file.
func (a array) file(name string) File {
	return File{Name: name, stream: func(w *bufio.Writer) error {
		if err := a.stream(w); err != nil {
			return err
		}
		return w.WriteByte('\n')
	}}
}

// stream writes the object, and each member that is an array piece by piece.
func (o object) stream(w *bufio.Writer) error {
	for i, m := range o {
		key, _ := json.Marshal(m.key) // a string is always encoded
		w.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		w.Write(key)
		w.WriteByte(':')
		if values, ok := m.value.(array); ok {
			if err := values.stream(w); err != nil {
				return err
			}
			continue
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return err
		}
		w.Write(value)
	}
	_, err := w.WriteString("}\n")
	return err
}

// indented returns a value as JSON with two spaces per level.
func indented(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

// sample is a list of values, sorted once by its statistics.
type sample []float64

// newSample returns the values of requests that have one.
func newSample(requests []*Request, of func(*Request) (float64, bool)) sample {
	s := make(sample, 0, len(requests))
	for _, r := range requests {
		if v, ok := of(r); ok {
			s = append(s, v)
		}
	}
	slices.Sort(s)
	return s
}

func (s sample) sum() float64 {
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	return sum
}

func (s sample) mean() float64 {
	if len(s) == 0 {
		return 0
	}
	return s.sum() / float64(len(s))
}

// deviation is the standard deviation of the values themselves, divided by their number: numpy.std.
func (s sample) deviation() float64 {
	if len(s) == 0 {
		return 0
	}
	mean, sum := s.mean(), 0.0
	for _, v := range s {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(s)))
}

// percentile interpolates between the two values at p·(n−1): numpy.percentile. s is sorted.
func (s sample) percentile(p float64) float64 {
	if len(s) == 0 {
		return 0
	}
	at := p / 100 * float64(len(s)-1)
	low := int(math.Floor(at))
	if low+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[low] + (at-float64(low))*(s[low+1]-s[low])
}

// gaps returns the times between the events of streams, sorted, in seconds.
func gaps(requests []*Request) sample {
	var s sample
	for _, r := range requests {
		for i := 1; i < len(r.TokenNS); i++ {
			s = append(s, seconds(r.TokenNS[i]-r.TokenNS[i-1]))
		}
	}
	slices.Sort(s)
	return s
}

// ratio is a/b, or 0 where b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
