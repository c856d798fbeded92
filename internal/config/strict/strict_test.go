package strict

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

type inner struct {
	Min float64 `yaml:"min" is:"0..1"`
	Std float64 `yaml:"std_dev" was:"std"`
}

func (i *inner) Shorthand(text string) error { i.Min = 1; return nil }

type shape string

func (shape) Values() []string { return []string{"round", "square"} }

type outer struct {
	Count  int               `yaml:"count" is:">=1" also:"number" need:"yes" doc:"how many"`
	Rates  []float64         `yaml:"rates" single:"yes" is:">0"`
	In     *inner            `yaml:"in"`
	Labels map[string]string `yaml:"labels"`
	Wait   time.Duration     `yaml:"wait"`
	Shape  shape             `yaml:"shape"`
	Later  bool              `yaml:"later" yet:"not supported yet"`
	Free   any               `yaml:"free"`
}

func decode(t *testing.T, lenient bool, text string) (outer, *Decoder, error) {
	t.Helper()
	var document yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(text), &document))
	d := &Decoder{Name: "file x.yaml", Lenient: lenient}
	v := outer{Count: 1, Shape: "round"}
	err := d.Decode(document.Content[0], &v)
	return v, d, err
}

func TestDecode(t *testing.T) {
	v, d, err := decode(t, false, "number: 0x10\nrates: 2\nin: short\n"+
		"labels: {a: 1, b: }\nwait: 1.5\nlater: false\nfree: [1]\n")
	require.NoError(t, err)
	require.Equal(t, outer{Count: 16, Rates: []float64{2}, In: &inner{Min: 1},
		Labels: map[string]string{"a": "1", "b": ""},
		Wait:   1500 * time.Millisecond, Shape: "round", Free: []any{1}}, v)
	require.Equal(t, 3, d.Lines["in"])
	require.EqualError(t, d.Errorf("in.min.deeper", "bad"), "file x.yaml line 3: in.min.deeper: bad")
}

func TestDecodeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"count: 0":                       `file x.yaml line 1: count: expected a whole number of at least 1, not "0"`,
		"rates: [1]":                     `file x.yaml line 1: count: the key is required (how many)`,
		"count: 1\ncont: 2":              `file x.yaml line 2: cont: unknown key; did you mean count?`,
		"count: 1\nzzz: 2":               `file x.yaml line 2: zzz: unknown key; the keys are count, rates, in, labels, wait, shape, later, free`,
		"count: 1\nrates:\n- 1\n- 0":     `file x.yaml line 4: rates.1: expected a number above 0, not "0"`,
		"count: 1\nrates:\n- 1\n-":       `file x.yaml line 4: rates.1: the item is empty`,
		"count: 1\nin: {std: 1}":         `file x.yaml line 2: in.std: the key is called std_dev now; rename it, or accept former names with --profile-compat`,
		"count: 1\nin: {min: 2}":         `file x.yaml line 2: in.min: expected a number from 0 to 1, not "2"`,
		"count: 1\nin: [2]":              `file x.yaml line 2: in: expected a map with some of min, std_dev, not a list`,
		"count: 1\nshape: rund":          `file x.yaml line 2: shape: expected one of round, square, not "rund"; did you mean round?`,
		"count: 1\nlater: true":          `file x.yaml line 2: later: not supported yet`,
		"count: 1\nnumber: 2":            `file x.yaml line 2: count: already set in line 1`,
		"count: 1\nwait: soon":           `file x.yaml line 2: wait: expected seconds or a duration such as 90s, not "soon"`,
		"count: 1\nlabels: {a: {}}":      `file x.yaml line 2: labels.a: expected a text, not a map`,
		"count: 1\nfree: &a 1":           `file x.yaml line 2: anchors and aliases are not supported; write the value out`,
		"count: 1\n? [a]\n: 2":           `file x.yaml line 2: a key is not a plain word`,
		"count: 99999999999999999999999": `file x.yaml line 1: count: expected a whole number of at least 1, not "99999999999999999999999"`,
		"count: 1\nin: {min: .nan}":      `file x.yaml line 2: in.min: expected a number from 0 to 1, not ".nan"`,
		"count: 1\nwait: 999999999999h":  `file x.yaml line 2: wait: expected seconds or a duration such as 90s, not "999999999999h"`,
		"count: 1\nlabels: {a: 1, a: 2}": `file x.yaml line 2: labels.a: the key is repeated`,
		"count: 1\nrates: {a: 1}":        `file x.yaml line 2: rates: expected a number above 0, not a map`,
		"count: 1\nlabels: [1]":          `file x.yaml line 2: labels: expected a map of names to values, not a list`,
	} {
		_, _, err := decode(t, false, text)
		require.EqualError(t, err, want, text)
	}
}

func TestLenientDecoderCollectsNotes(t *testing.T) {
	v, d, err := decode(t, true, "count: 2\nin: {std: 3}\nwiat: 1\n")
	require.NoError(t, err)
	require.Equal(t, 3.0, v.In.Std)
	require.Equal(t, []string{
		"file x.yaml line 2: in.std: read as std_dev",
		"file x.yaml line 3: wiat: unknown key, ignored; did you mean wait?",
	}, d.Notes)
}

func TestTableAndSchema(t *testing.T) {
	require.Contains(t, Table(reflect.TypeFor[outer]()),
		"| `count` (required), or `number` | a whole number of at least 1 | how many |\n"+
			"| `rates` | a number above 0, or a list |  |\n| `in` | inner |  |\n")
	s := Schema(reflect.TypeFor[outer](), "t", "d")
	require.Contains(t, s["$defs"], "inner")
	require.Equal(t, map[string]any{"enum": []string{"round", "square"}}, s["properties"].(map[string]any)["shape"])
}
