package tokenizer_test

import (
	"bytes"
	"fmt"

	"github.com/mlperf-go/mlperf-go/tokenizer"
)

func Example() {
	var file bytes.Buffer
	words := func(yield func(int32, string) bool) {
		for b := range 256 {
			if !yield(int32(b), string([]byte{byte(b)})) {
				return
			}
		}
		_ = yield(1000, "lighthouse") && yield(1001, " keeper")
	}
	if err := tokenizer.WriteWords(&file, words, []tokenizer.SpecialToken{{ID: 2000, Text: "<begin>"}}); err != nil {
		fmt.Println(err)
		return
	}
	tok, err := tokenizer.Parse(file.Bytes(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := tok.Encode("lighthouse keeper!", true)
	fmt.Println(ids)
	fmt.Println(tok.Decode(ids, true))
	// Output:
	// [2000 1000 1001 33]
	// lighthouse keeper!
}
