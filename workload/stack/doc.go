// Package stack derives the names of llm-d-benchmark's stacks and the variables of a run from the name of a model.
//
//	stack.Name("modelservice", "meta-llama/Llama-3.1-8B-Instruct") // llm-d-8b-instruct
//	stack.Label("llmdbench", "Qwen/Qwen3-32B")                      // qwen-qwe-03cce4e9-wen3-32b
//
// The rules are those of model_attribute in llm-d-benchmark's setup/functions.py and of _model_id_label_filter in its
// llmdbenchmark/parser. The package imports nothing of the project.
package stack
