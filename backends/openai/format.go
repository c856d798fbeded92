package openai

import (
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/encode"
)

// grammar is the way in which a family of servers is asked for JSON.
type grammar uint8

const (
	_ grammar = iota // the zero value: response_format, as OpenAI documents it
	// structured_outputs since 0.11, guided_json before (docs/reference/wire-protocols.md#vllm-requests)
	vllmGrammar
	sglangGrammar // json_schema as a string on the completions route, response_format in chat
)

// atLeast reports whether a version such as "0.11.2rc1+cu12" is major.minor or later. known is false if the version
// cannot be parsed.
func atLeast(version string, major, minor int) (yes, known bool) {
	var have [2]int
	if n, err := fmt.Sscanf(version, "%d.%d", &have[0], &have[1]); n < 2 || err != nil {
		return false, false
	}
	return have[0] > major || have[0] == major && have[1] >= minor, true
}

// appendFormat requests answers of a form, with the field of the server's version.
func (d *dialect) appendFormat(dst []byte, c *backends.Config) []byte {
	f := c.Format
	if f == nil {
		return dst
	}
	since11, known := atLeast(c.ServerVersion, 0, 11)
	switch {
	case d.grammar == vllmGrammar && (since11 || c.API == "generate"): // that route never had guided_json
		if f.Schema == nil {
			return append(dst, `,"structured_outputs":{"json_object":true}`...)
		}
		return append(append(append(dst, `,"structured_outputs":{"json":`...), f.Schema...), '}')
	case d.grammar == vllmGrammar && known && f.Schema != nil:
		return append(append(dst, `,"guided_json":`...), f.Schema...)
	case d.grammar == sglangGrammar && c.API != "chat":
		return encode.Text(append(dst, `,"json_schema":`...), f.SchemaText())
	case f.Schema == nil:
		return append(dst, `,"response_format":{"type":"json_object"}`...)
	}
	dst = append(dst, `,"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":`...)
	return append(append(dst, f.Schema...), "}}"...)
}
