package encode

import "github.com/mlperf-go/mlperf-go/models"

// Drawing appends how llama.cpp and Ollama draw tokens: temperature, top_p, top_k and seed as the benchmark fixes them.
// It switches off the servers' defaults, which discard improbable tokens (min_p) and penalize repeated ones.
func Drawing(dst []byte, p *models.Sampling) (_ []byte, err error) {
	if dst, err = Number(dst, "temperature", p.Temperature); err != nil {
		return dst, err
	}
	if dst, err = Number(dst, "top_p", p.TopP); err != nil {
		return dst, err
	}
	if p.TopK != nil {
		dst = Integer(dst, "top_k", int64(max(*p.TopK, 0))) // 0 is off
	}
	dst = append(dst, `,"min_p":0,"repeat_penalty":1`...)
	if p.Seed != nil {
		dst = Integer(dst, "seed", *p.Seed)
	}
	return dst, nil
}
