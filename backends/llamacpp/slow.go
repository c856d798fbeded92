package llamacpp

import (
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/backends/internal/reader"
)

// decodeSlow reads a document with encoding/json. Its error is a *reader.ShapeError or encoding/json's own.
func decodeSlow(doc []byte, keepText bool, e *reader.Event) error {
	top, err := reader.Members(doc, e)
	if err != nil {
		return err
	}
	return slowAnswer(top, keepText, e)
}

func slowAnswer(top map[string]json.RawMessage, keepText bool, e *reader.Event) (err error) {
	for _, key := range []string{"content", "tokens", "stop"} {
		if _, ok := top[key]; ok {
			e.Choices = 1
		}
	}
	d := end{timed: -1, read: -1}
	for _, flag := range []struct {
		key  string
		into *bool
	}{{"stop", &d.stop}, {"stopped_limit", &d.limit}, {"truncated", &d.truncated}} {
		if *flag.into, err = reader.SlowBool(top, flag.key); err != nil {
			return err
		}
	}
	for _, number := range []struct {
		key    string
		into   *int64
		absent int64
	}{{"index", &e.Index, 0}, {"tokens_predicted", &e.Produced, -1}, {"tokens_evaluated", &e.Prompt, -1}} {
		if *number.into, err = reader.Whole(top, number.key, number.absent); err != nil {
			return err
		}
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
	if d.timed, err = reader.Whole(timings, "predicted_n", -1); err != nil {
		return err
	}
	prompt, err := reader.Whole(timings, "prompt_n", -1)
	if err != nil {
		return err
	}
	cached, err := reader.Whole(timings, "cache_n", 0)
	if err != nil {
		return err
	}
	if prompt >= 0 {
		d.read = prompt + max(cached, 0)
	}
	return nil
}
