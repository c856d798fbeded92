package objects

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// YAML returns objects as one stream of documents.
func YAML(all []runtime.Object) ([]byte, error) {
	var text bytes.Buffer
	for i, o := range all {
		u, err := Unstructured(o)
		if err != nil {
			return nil, err
		}
		document, err := yaml.Marshal(u.Object)
		if err != nil {
			return nil, fmt.Errorf("rendering %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(document)
	}
	return text.Bytes(), nil
}

// Unstructured returns an object without its status and without the time stamps that only the cluster sets.
func Unstructured(o runtime.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("rendering %T: %w", o, err)
	}
	delete(fields, "status")
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(fields, "spec", "template", "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: fields}, nil
}
