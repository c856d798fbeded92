package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Values of response-format that are not a file.
const (
	formatText      = "text"
	formatObject    = "json_object"
	formatBenchmark = "benchmark"
)

// formatBreach reports a response format where the round's rules do not leave it to the submitter: such answers differ
// from the benchmark's.
func (r *Requests) formatBreach() []record.Breach {
	sent := r.Config.String("response-format")
	switch {
	case sent == "" || sent == formatText || r.guided():
		return nil
	case sent == formatBenchmark:
		sent = "the benchmark's JSON schema"
	case sent != formatObject:
		sent = "a JSON schema"
	}
	return []record.Breach{record.NewBreach("response_format", sent, "",
		"guided decoding of "+r.Row.Name+" in "+r.Round.Name+": "+r.Row.Source)}
}

// guided reports whether the round leaves guided decoding to the submitter.
func (r *Requests) guided() bool {
	b := r.Round.Benchmark(r.Row.Name)
	return b != nil && b.Guided
}

// largestSchema bounds the file of a JSON schema, in bytes: it is sent with every request.
const largestSchema = 1 << 20

// readAtMost reads a small file, which may be a pipe. More than most bytes are an error.
func readAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return text, err
}

// format reads --response-format: text, json_object, the benchmark's own schema, or the file of one.
func (r *Requests) format() (*backends.Format, error) {
	switch name := r.Config.String("response-format"); name {
	case "", formatText:
		return nil, nil
	case formatObject:
		return &backends.Format{}, nil
	case formatBenchmark:
		if r.Row.Guided.Schema == "" {
			return nil, exit.Usage(exit.CodeResponseFormat, "Write text, json_object, or the file of a JSON schema",
				"--response-format benchmark asks for the schema of %s, and the "+
					"benchmark has none", r.Row.Name)
		}
		return &backends.Format{Schema: []byte(r.Row.Guided.Schema)}, nil
	default:
		text, err := readAtMost(name, largestSchema)
		if err != nil {
			return nil, exit.Usage(exit.CodeResponseFormat, "Write text, json_object, benchmark, or a readable file",
				"the JSON schema of --response-format cannot be read: %w", err)
		}
		var schema bytes.Buffer
		err = json.Compact(&schema, text)
		if err == nil && !strings.HasPrefix(schema.String(), "{") {
			err = errors.New("it is another JSON value")
		}
		if err != nil {
			return nil, exit.Usage(exit.CodeResponseFormat, "Write text, json_object, benchmark, or the file of a JSON schema",
				"%s does not contain a JSON object, as a JSON schema must: %w", name, err)
		}
		return &backends.Format{Schema: schema.Bytes()}, nil
	}
}
