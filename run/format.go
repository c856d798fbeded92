package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
)

// format reads --response-format: text, json_object, or the file of a JSON schema.
func (p *Plan) format() (*backends.Format, error) {
	switch name := p.Config.String("response-format"); name {
	case "", "text":
		return nil, nil
	case "json_object":
		return &backends.Format{}, nil
	default:
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usage("response_format", fmt.Errorf("the JSON schema of --response-format can not be read: %w", err), "Write text, json_object, or a readable file")
		}
		var schema bytes.Buffer
		if err := json.Compact(&schema, text); err != nil || !strings.HasPrefix(schema.String(), "{") {
			return nil, usage("response_format", fmt.Errorf("%s holds no JSON object (%v), and a JSON schema is one", name, err), "Write text, json_object, or the file of a JSON schema")
		}
		return &backends.Format{Schema: schema.Bytes()}, nil
	}
}

// adapt makes requests as the probed servers understand them: what one of them refuses goes to none of them.
func (pre *Preflight) adapt(c *backends.Config) {
	for i, e := range pre.Endpoints {
		if i == 0 {
			c.ServerVersion = e.Version
		} else if c.ServerVersion != e.Version {
			c.ServerVersion = ""
		}
		c.IDsInLogprobs = c.IDsInLogprobs || e.IDsInLogprobs
		for _, field := range e.Dropped {
			if !slices.Contains(c.Drop, field) {
				c.Drop = append(c.Drop, field)
			}
		}
	}
}
