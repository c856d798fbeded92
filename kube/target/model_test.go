package target

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mlperf-go/mlperf-go/workload/stack"
)

// TestObjectsOfAModel selects by the names that llm-d-benchmark derives from a model, and by its path.
func TestObjectsOfAModel(t *testing.T) {
	const model = "Qwen/Qwen3-0.6B"
	label := stack.Label("serving", model)
	named := func(names ...string) (all []candidate) {
		for _, name := range names {
			u := unstructured.Unstructured{Object: map[string]any{}}
			u.SetName(name)
			all = append(all, candidate{u, kindOf("httproute")})
		}
		return all
	}
	for _, c := range []struct{ model, all, want string }{
		{model, "", "a " + label + "x"},
		{model, label, label},
		{model, label + "-route", label + "-route"},
		{"", label, "a " + label + "x " + label},
		{"other", label, "a " + label + "x " + label},
	} {
		f := &finder{Query: Query{Namespace: "serving", Model: c.model}}
		all := named("a", label+"x")
		if c.all != "" {
			all = append(all, named(c.all)...)
		}
		got := ""
		for _, x := range f.ofModel(all) {
			got += " " + x.GetName()
		}
		require.Equal(t, " "+c.want, got)
	}
	f := &finder{Query: Query{Model: model}}
	for _, own := range []string{"/Qwen-Qwen3-0-6B", "/qwen-qwen3-0-6b"} {
		path, err := f.path([]string{"/other", own + "/", "/v1"}, "it")
		require.NoError(t, err)
		require.Equal(t, own, path)
	}
	_, err := f.path([]string{"/a", "/b"}, "it")
	require.ErrorContains(t, err, "it forwards several paths: /a, /b")
}
