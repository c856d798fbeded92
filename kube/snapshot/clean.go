package snapshot

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mlperf-go/mlperf-go/internal/secret"
)

// clean returns an object without secrets and without the parts that repeat others: who set which field, and the text
// that kubectl applied. It registers the secrets that it finds.
func clean(object map[string]any, secrets *secret.Redactor) any {
	object = maps.Clone(object)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		if notes, ok := metadata["annotations"].(map[string]any); ok {
			notes = maps.Clone(notes)
			delete(notes, "kubectl.kubernetes.io/last-applied-configuration")
			metadata["annotations"] = notes
		}
		object["metadata"] = metadata
	}
	return secrets.Tree(hide(object, secrets))
}

// hide replaces the values of variables with secret names, and the secrets of command lines.
func hide(v any, secrets *secret.Redactor) any {
	switch v := v.(type) {
	case []any:
		if line := words(v); line != nil {
			secrets.AddArgs(line)
			return anys(secret.Args(line))
		}
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = hide(e, secrets)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, e := range v {
			fields[name] = hide(e, secrets)
		}
		name, _, _ := unstructured.NestedString(v, "name")
		if value, ok := v["value"].(string); ok && secret.Name(name) && !secret.IsSwitch(value) {
			secrets.Add(value)
			fields["value"] = secret.Hidden
		}
		return fields
	}
	return v
}

// words returns a list of strings; nil: it has others.
func words(list []any) (line []string) {
	for _, e := range list {
		word, ok := e.(string)
		if !ok {
			return nil
		}
		line = append(line, word)
	}
	return line
}

func anys(line []string) []any {
	list := make([]any, len(line))
	for i, word := range line {
		list[i] = word
	}
	return list
}
