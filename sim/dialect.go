package sim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// dialect is a kind of inference server that the simulator plays: its routes and their common properties.
type dialect struct {
	version string // as the server reports it; the local part "sim" marks the simulator
	owner   string // owned_by in the list of models
	routes  routes
	// form of errors of routes that do not generate, and where the server's framework rejects a request
	fail      func(*apiError) []byte
	notFound  func(status int) []byte
	anyModel  bool // /tokenize and /detokenize ignore the name of the model
	plainText bool // /detokenize omits special tokens by default and calls its answer "text"
	byHeader  bool // answers carry the X-Request-Id of their request
	// closes a connection behind a stream without announcing it
	// (docs/reference/wire-protocols.md#differences-between-servers)
	closes bool
}

// DefaultDialect is the kind of server that the simulator plays unless told otherwise.
const DefaultDialect = "vllm"

// dialects are the kinds of servers by name. It is filled by init because the routes refer to it.
var dialects map[string]*dialect

func init() {
	dialects = map[string]*dialect{
		DefaultDialect: {version: Version, owner: "vllm", routes: vllmRoutes, fail: (*apiError).body, notFound: detailBody,
			byHeader: true},
		"sglang": {version: "0.5.23+sim", owner: "sglang", routes: sglangRoutes, fail: flatError, notFound: detailBody,
			anyModel: true, plainText: true},
		"llamacpp": {version: "b0-sim", owner: "llamacpp", routes: llamaRoutes, fail: llamaError, notFound: llamaNotFound,
			closes: true},
		"ollama": {version: "0.17.4+sim", owner: "library", routes: ollamaRoutes, fail: ollamaError, notFound: plainNotFound},
	}
}

// Dialects returns the names of the kinds of servers that the simulator plays.
func Dialects() []string { return slices.Sorted(maps.Keys(dialects)) }

func findDialect(name string) (*dialect, error) {
	if d := dialects[name]; d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("simulator settings: the dialect is %q; it must be one of %s", name,
		strings.Join(Dialects(), ", "))
}

// detailBody is an error of the web framework that vLLM and SGLang use.
func detailBody(status int) []byte { return []byte(`{"detail":"` + http.StatusText(status) + `"}`) }

func llamaNotFound(int) []byte {
	return []byte(`{"error":{"message":"File Not Found","type":"not_found_error","code":404}}`)
}

func plainNotFound(status int) []byte {
	return fmt.Appendf(nil, "%d %s", status, strings.ToLower(http.StatusText(status)))
}
