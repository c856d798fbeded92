package dialect

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// random translates vllm's random data: token ids if the API accepts them, else texts of as many tokens.
func (f *vllmFile) random(t *translation) {
	t.Data = profile.Data{Kind: profile.Random, Input: spread(or(f.Input, 1024), f.Range), Prefix: f.Prefix}
	if t.API.Generates() {
		t.Data.Output = spread(or(f.Output, 128), f.Range)
	}
	if t.API.IsChat() {
		t.Data.Kind = profile.Synthetic
	}
	switch {
	case t.API.Kind == "rerank":
		f.passages(t)
	case f.Dataset == "random-mm":
		f.images(t)
	}
}

// passages translates random-rerank: pairs of one query and a passage, of --random-input-len tokens with one token
// between them and one at the end. A request has --random-batch-size passages. With --no-reranker, the query and each
// passage have --random-input-len tokens, and the query counts as one of the batch and of --num-prompts.
func (f *vllmFile) passages(t *translation) {
	whole, batch := or(f.Input, 1024), max(f.Batch, 1)
	last := &t.Load.Stages[len(t.Load.Stages)-1]
	query, passage := max(whole/2-1, 1), 0
	if passage = max(whole-query-1, 1); f.NoReranker {
		if batch < 2 || last.Requests < 2 {
			t.fail("no-reranker", "random-batch-size and num-prompts must be at least 2, because the query is one of them")
			return
		}
		query, passage, batch, last.Requests = whole, whole, batch-1, last.Requests-1
	}
	t.Data.Kind, t.Data.Prefix, t.Data.Input = profile.Synthetic, query-1, profile.FixedAt(1)
	t.Data.Passages = &profile.Passages{Count: batch, Tokens: spread(passage, f.Range)}
	last.Requests = (last.Requests + batch - 1) / batch
	t.notes.add("random-rerank: queries have %d tokens, and differ in the last one only; vllm repeats one query", query)
}

// images translates random-mm, which is text with images before it.
func (f *vllmFile) images(t *translation) {
	t.Data.Kind = profile.Synthetic
	if !t.API.IsChat() {
		t.fail("dataset-name", "random-mm needs backend openai-chat: only chats carry images")
		return
	}
	count := float64(or(f.MMItems, 1))
	low, high := math.Floor(count*(1-f.MMRange)), math.Ceil(count*(1+f.MMRange))
	limit, err := imageLimit(f.MMLimit)
	if err != nil {
		t.fail("random-mm-limit-mm-per-prompt", "%w", err)
		return
	}
	sizes, err := mmBuckets(f.MMBuckets)
	if err != nil {
		t.fail("random-mm-bucket-config", "%w", err)
		return
	}
	items := &profile.Distribution{Kind: "uniform", Min: min(low, limit), Max: min(high, limit)}
	if items.Min == items.Max {
		items = profile.FixedAt(items.Min)
	}
	t.Data.Images = &profile.Images{Count: items, Resolutions: sizes, Format: "jpeg"}
}

// flagText returns a value of a flag that may also be a map.
func flagText(v any) (string, error) {
	if text, ok := v.(string); ok || v == nil {
		return text, nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// imageLimit returns the most images of a prompt; without the flag it is vllm's.
func imageLimit(v any) (float64, error) {
	limits := map[string]float64{"image": 255}
	text, err := flagText(v)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &limits)
	}
	if err != nil || !(limits["image"] >= 0) {
		return 0, fmt.Errorf(`expected a JSON object such as {"image": 3, "video": 0}, not %.60q`, text)
	}
	return limits["image"], nil
}

var mmBucket = regexp.MustCompile(`"?\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)"?\s*:\s*([0-9.eE+-]+)`)

// mmBuckets reads (height, width, frames): share. Without the flag they are vllm's.
func mmBuckets(v any) (sizes []profile.Resolution, err error) {
	text, err := flagText(v)
	if err != nil {
		return nil, fmt.Errorf("expected {(HEIGHT, WIDTH, 1): SHARE, ...}: %w", err)
	}
	if text == "" {
		text = "{(256, 256, 1): 0.5, (720, 1280, 1): 0.5}"
	}
	for _, m := range mmBucket.FindAllStringSubmatch(text, -1) {
		height, _ := strconv.Atoi(m[1])
		width, _ := strconv.Atoi(m[2])
		share, err := strconv.ParseFloat(m[4], 64)
		switch {
		case err != nil || share < 0:
			return nil, fmt.Errorf("expected a share of at least 0, not %.60q", m[4])
		case share == 0:
			continue
		case m[3] != "1":
			return nil, fmt.Errorf("%.60s is a video; this program sends images only", m[0])
		case height < 1 || height > 16384 || width < 1 || width > 16384:
			return nil, fmt.Errorf("expected sides from 1 to 16384, not %.60s", m[0])
		}
		sizes = append(sizes, profile.Resolution{Width: width, Height: height, Weight: share})
	}
	if rest := mmBucket.ReplaceAllString(text, ""); len(sizes) == 0 || strings.Trim(rest, "{}, \t\n") != "" {
		return nil, fmt.Errorf("expected {(HEIGHT, WIDTH, 1): SHARE, ...}, not %.60q", text)
	}
	return sizes, nil
}
