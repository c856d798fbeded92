package config

import "fmt"

// ResolveModelCategory returns the old pair --model-category C --model M its meaning: C is the benchmark, M the served
// model's name.
//
// rowOf says which benchmark a name of the registry (not a Hugging Face id) stands for. M becomes the served model
// unless it is itself a name of C's benchmark, or --served-model is given. M naming another benchmark than C is an
// error. Without --model-category nothing changes.
func (e *Effective) ResolveModelCategory(rowOf func(name string) (row string, ok bool)) error {
	category, ok := e.values["model-category"]
	if !ok {
		return nil
	}
	model, hasModel := e.values["model"]
	delete(e.values, "model-category")
	e.values["model"] = category
	if !hasModel {
		return nil
	}
	name := model.value.(string)
	row, known := rowOf(category.value.(string))
	if other, isRow := rowOf(name); isRow {
		if known && other == row {
			return nil
		}
		return fmt.Errorf("%s names the benchmark %q and %s the benchmark %q: give one --model", category.origin,
			category.value, model.origin, name)
	}
	if !e.IsSet("served-model") {
		e.values["served-model"] = model
	}
	return nil
}
