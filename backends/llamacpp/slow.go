package llamacpp

import (
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// parts are what an answer consists of.
var parts = []string{"content", "tokens", "stop"}

// decodeSlow reads a document with encoding/json. Its error is a *reader.ShapeError or encoding/json's own.
func decodeSlow(doc []byte, keepText bool, e *reader.Event) error {
	top, err := reader.Members(doc, e, parts...)
	if err != nil {
		return err
	}
	return slowAnswer(top, keepText, e)
}

func slowAnswer(top map[string]json.RawMessage, keepText bool, e *reader.Event) (err error) {
	for _, key := range parts {
		if _, ok := top[key]; ok {
			e.Choices = 1
		}
	}
	e.Model = reader.SlowName(top, "model")
	d := end{timed: -1, read: -1}
	for _, flag := range []struct {
		key  string
		into *bool
	}{{"stop", &d.stop}, {"stopped_limit", &d.limit}, {"truncated", &d.truncated}} {
		if *flag.into, err = reader.SlowBool(top, flag.key); err != nil {
			return err
		}
	}
	if e.Index, err = reader.Whole(top, "index", 0); err != nil {
		return err
	}
	if e.Produced, err = reader.Count(top, "tokens_predicted"); err != nil {
		return err
	}
	if e.Prompt, err = reader.Count(top, "tokens_evaluated"); err != nil {
		return err
	}
	if err := reader.SlowText(top, "content", keepText, e); err != nil {
		return err
	}
	if err := reader.SlowIDs(top, "tokens", e); err != nil {
		return err
	}
	var kind *string
	if err := reader.Into(top, "stop_type", &kind); err != nil {
		return err
	}
	if kind != nil {
		d.kind = []byte(*kind)
	}
	if err := slowTimings(top, &d); err != nil {
		return err
	}
	d.judge(e)
	return nil
}

func slowTimings(top map[string]json.RawMessage, d *end) error {
	var timings map[string]json.RawMessage
	err := reader.Into(top, "timings", &timings)
	if err != nil {
		return err
	}
	if d.timed, err = reader.Count(timings, "predicted_n"); err != nil {
		return err
	}
	prompt, err := reader.Count(timings, "prompt_n")
	if err != nil {
		return err
	}
	cached, err := reader.Count(timings, "cache_n")
	if err != nil {
		return err
	}
	if prompt >= 0 {
		d.read = prompt + max(cached, 0)
	}
	return nil
}
