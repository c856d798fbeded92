package batch

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// Form is how a protocol encodes a request.
type Form struct {
	Keys   []string // members of the body that may contain the prompt
	Encode func(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error)
}

// frame contains the parts of a request before and behind the prompt, which all requests share.
type frame struct{ prefix, suffix []byte }

// shortest are samples with the shortest prompts, and the JSON of these.
var shortest = []struct {
	sample datasets.Sample
	text   string
}{
	{datasets.Sample{InputIDs: []int32{0}}, `[0]`},
	{datasets.Sample{Input: "x"}, `"x"`},
}

// frames returns the requests of c without their prompts: one for ids and one for text if the protocol has both.
func (f *Form) frames(c *backends.Config) ([]frame, error) {
	var all []frame
	var failed error
	for i := range shortest {
		body, err := f.Encode(nil, &shortest[i].sample, c)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		for _, key := range f.Keys {
			member := fmt.Sprintf(`"%s":%s`, key, shortest[i].text)
			if at := bytes.Index(body, []byte(member)); at >= 0 {
				end := at + len(member)
				all = append(all, frame{prefix: body[: end-len(shortest[i].text) : end-len(shortest[i].text)], suffix: body[end:]})
				break
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("requests of this kind cannot be joined: %w",
			errors.Join(failed, errors.New("no prompt was found in one")))
	}
	return all, nil
}

// prompt returns the part of a request between prefix and suffix; ok is false if it does not have both.
func (f *frame) prompt(body []byte) (prompt []byte, ok bool) {
	if len(body) < len(f.prefix)+len(f.suffix) || !bytes.HasPrefix(body, f.prefix) || !bytes.HasSuffix(body, f.suffix) {
		return nil, false
	}
	return body[len(f.prefix) : len(body)-len(f.suffix)], true
}

// join appends one request with all prompts; ok is false if a request does not have the frame.
func (f *frame) join(dst []byte, requests [][]byte) (body []byte, ok bool) {
	dst = append(append(dst, f.prefix...), '[')
	for i, r := range requests {
		prompt, ok := f.prompt(r)
		if !ok {
			return dst, false
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, prompt...)
	}
	return append(append(dst, ']'), f.suffix...), true
}

// length returns the number of ids of a prompt; -1: it is not a list of ids.
func length(prompt []byte) int {
	switch {
	case len(prompt) < 2 || prompt[0] != '[':
		return -1
	case len(prompt) == 2:
		return 0
	}
	return 1 + bytes.Count(prompt, []byte{','})
}
