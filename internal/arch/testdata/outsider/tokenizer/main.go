// Command tokenizer encodes and decodes a text with a tokenizer that it describes itself.
package main

import (
	"fmt"
	"log"

	"github.com/mlperf-go/mlperf-go/tokenizer"
)

const file = `{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, "added_tokens": []}`

func main() {
	t, err := tokenizer.Parse([]byte(file), nil)
	if err != nil {
		log.Fatal(err)
	}
	ids := t.Encode("abb", false)
	fmt.Println(ids, t.Decode(ids, true))
}
