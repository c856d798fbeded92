package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Bounds of ProfileDifferences.
const (
	mostDifferences = 5
	mostValue       = 60 // bytes
)

// unrelated are the keys that change no request: the name of a run, its servers, and the rules for its judgement.
var unrelated = []string{"name", "description", "use_case", "source", "upload", "slo", "api.endpoint", "api.model",
	"api.tokenizer"}

// DifferencesTo lists the keys in which the profile of a run differs from another, like ProfileDifferences.
func DifferencesTo(folder string, p *profile.Profile) ([]string, error) {
	theirs, err := settings(folder)
	if err != nil {
		return nil, err
	}
	text, err := p.Encode()
	if err != nil {
		return nil, err
	}
	ours, err := settingsOf(text)
	if err != nil {
		return nil, err
	}
	return compared(theirs, ours), nil
}

// ProfileDifferences lists at most five keys in which the profiles of two runs differ, with their values. It
// ignores keys that change no request.
func ProfileDifferences(a, b string) ([]string, error) {
	inA, err := settings(a)
	if err != nil {
		return nil, err
	}
	inB, err := settings(b)
	if err != nil {
		return nil, err
	}
	return compared(inA, inB), nil
}

func compared(inA, inB map[string]string) []string {
	keys := maps.Clone(inA)
	maps.Copy(keys, inB)
	var list []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		x, y := inA[key], inB[key]
		switch {
		case x == y:
		case len(list) == mostDifferences:
			return append(list, "and more")
		default:
			list = append(list, foreign.Line(key, mostValue)+" "+orAbsent(x)+" and "+orAbsent(y))
		}
	}
	return list
}

func orAbsent(value string) string {
	if value == "" {
		return "absent"
	}
	return foreign.Line(value, mostValue)
}

// settings reads the profile of a run as values by key, such as load.stages.0.rate.
func settings(folder string) (map[string]string, error) {
	text, err := atomicfile.ReadBelow(folder, ProfileName, mostProfile)
	if err != nil {
		return nil, err
	}
	return settingsOf(text)
}

func settingsOf(text []byte) (map[string]string, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%s: %w", ProfileName, err)
	}
	values := map[string]string{}
	for _, n := range root.Content {
		flatten(values, "", n)
	}
	maps.DeleteFunc(values, func(key, _ string) bool {
		return slices.ContainsFunc(unrelated, func(name string) bool { return strings.HasPrefix(key+".", name+".") })
	})
	return values, nil
}

func flatten(values map[string]string, key string, n *yaml.Node) {
	below := func(name string) string {
		if key == "" {
			return name
		}
		return key + "." + name
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			flatten(values, below(n.Content[i].Value), n.Content[i+1])
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			flatten(values, below(fmt.Sprint(i)), item)
		}
	default:
		values[key] = n.Value
	}
}
