package sim

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// pages writes what a server reports about itself. Pages of one kind of server are in the file of that kind, metrics in
// meters.go.
type pages struct {
	cfg     *Config
	dialect *dialect
	meters  *meters

	prefixes *prefixCache // nil: the server has none
}

// IdentityPath is the route where the simulator, whatever it plays, reports which answers it has.
const IdentityPath = "/mlperf-go-sim"

// Identity is the answer of IdentityPath.
type Identity struct {
	// References is the SHA-256 of the data set whose reference outputs are the answers; empty: they are others.
	References string `json:"references"`
}

func (p *pages) identity() []byte {
	i := Identity{}
	if p.cfg.Dataset != nil && p.cfg.Answers == AnswerReference {
		i.References = p.cfg.Dataset.SHA256
	}
	text, err := json.Marshal(i)
	if err != nil { // a string always has a form
		return nil
	}
	return text
}

// versionOnly is a version without anything else.
func (p *pages) versionOnly() []byte { return []byte(`{"version":"` + p.dialect.version + `"}`) }

func (p *pages) load() []byte {
	return fmt.Appendf(nil, `{"server_load":%d}`, p.meters.inFlight.Load())
}

// models lists the model and its adapters as vLLM does.
func (p *pages) models() []byte {
	created := strconv.FormatInt(p.meters.createdNS/1e9, 10)
	b := []byte(`{"object":"list","data":[`)
	for i, name := range append([]string{p.cfg.Model}, p.cfg.Adapters...) {
		parent := "null"
		if i > 0 {
			b = append(b, ',')
			parent = `"` + string(appendEscaped(nil, p.cfg.Model)) + `"`
		}
		id := string(appendEscaped(nil, name))
		b = append(b, `{"id":"`+id+`","object":"model","created":`+created+`,"owned_by":"`+p.dialect.owner+`","root":"`+id+
			`","parent":`+parent+`,"max_model_len":`+strconv.Itoa(p.cfg.MaxModelLen)+
			`,"permission":[{"id":"modelperm-0","object":"model_permission","created":`+created+
			`,"allow_create_engine":false,"allow_sampling":true,"allow_logprobs":true,"allow_search_indices":false,`+
			`"allow_view":true,`+
			`"allow_fine_tuning":false,"organization":"*","group":null,"is_blocking":false}]}`...)
	}
	return append(b, `]}`...)
}
