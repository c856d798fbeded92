package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// Local is the method of a stack that no cluster has.
const Local = "nok8s"

// ID returns the name of a model in paths and objects of a stack.
func ID(model string) string { return strings.NewReplacer("/", "-", ".", "-").Replace(model) }

// Label returns the short name of a model in a namespace, with which the names of the stack's objects begin, and which
// is the value of their label llm-d.ai/model: the first eight bytes of the ID, eight digits of a SHA-256, and the last
// eight bytes, in lower case.
func Label(namespace, model string) string {
	id := ID(model)
	sum := sha256.Sum256([]byte(namespace + "/" + id))
	return strings.ToLower(id[:min(8, len(id))] + "-" + hex.EncodeToString(sum[:4]) + "-" + id[max(0, len(id)-8):])
}

// Patterns of the parts of a model's name, between hyphens and in lower case.
var (
	kindPart = regexp.MustCompile(`nstruct|hf|chat|speech|vision|opt`)
	sizePart = regexp.MustCompile(`[0-9].*[bm]`)
)

// Name returns the name of the stack that a method deploys for a model: METHOD-PARAMETERS-TYPE, where the method
// modelservice is called llm-d. A name without a type has "base", and one without a size has no parameters.
func Name(method, model string) string {
	_, name, found := strings.Cut(model, "/")
	if !found {
		name = model
	}
	kind, size := "", ""
	name = strings.ToLower(name)
	for _, family := range joined {
		name = strings.ReplaceAll(name, family, family+"-")
	}
	for _, part := range strings.Split(name, "-") {
		if kind == "" && kindPart.MatchString(part) {
			kind = part
		}
		if sizePart.MatchString(part) { // the last one counts
			size = strings.TrimLeft(part[:1], "abcdefghijklmnopqrstuvwxyz") + part[1:]
			size = size[strings.LastIndexByte(size, '.')+1:]
		}
	}
	if kind == "" {
		kind = "base"
	}
	return strings.ReplaceAll(method, "modelservice", "llm-d") + "-" + size + "-" + kind
}

// Variables returns the variables of llm-d-benchmark that follow from the model of a stack, its method and its
// namespace. An unknown model has none.
func Variables(method, namespace, model string) map[string]string {
	if model == "" {
		return nil
	}
	kind, id := "llm-d", strings.ToLower(ID(model))
	if method == "standalone" || method == Local {
		kind = "vllm-prod"
	}
	return map[string]string{"LLMDBENCH_DEPLOY_CURRENT_MODEL": model, "LLMDBENCH_DEPLOY_CURRENT_TOKENIZER": model,
		"LLMDBENCH_DEPLOY_CURRENT_MODEL_ID": id, "LLMDBENCH_DEPLOY_CURRENT_MODELID": id,
		"LLMDBENCH_DEPLOY_CURRENT_MODEL_ID_LABEL": Label(namespace, model), "LLMDBENCH_DEPLOY_METHODS": method,
		"LLMDBENCH_HARNESS_STACK_NAME": Name(method, model), "LLMDBENCH_HARNESS_STACK_TYPE": kind}
}
