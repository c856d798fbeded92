// Command accuracy scores an accuracy log whose answers are the references.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/accuracy"
)

var words = []string{"The", "quick", "brown", "fox", "jumps."}

// decoder is a tokenizer with five words.
type decoder struct{}

func (decoder) Decode(ids []int32, _ bool) string {
	var text []string
	for _, id := range ids {
		text = append(text, words[id])
	}
	return strings.Join(text, " ")
}

func main() {
	folder, err := os.MkdirTemp("", "score")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ids := make([]byte, 0, 20) // five ids of four bytes each
	for i := range uint32(5) {
		ids = binary.LittleEndian.AppendUint32(ids, i)
	}
	line := fmt.Sprintf("[\n{ \"seq_id\" : 0, \"qsl_idx\" : 0, \"data\" : \"%X\", \"token_count\" : 5 }\n]\n", ids)
	name := filepath.Join(folder, "mlperf_log_accuracy.json")
	if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
		log.Fatal(err)
	}
	punkt, err := accuracy.EnglishPunkt()
	if err != nil {
		log.Fatal(err)
	}
	result, err := accuracy.Score(context.Background(), accuracy.Input{
		Benchmark: "llama3.1-8b", Log: name, References: []accuracy.Reference{{Target: strings.Join(words, " ")}},
		Punkt: punkt, Rehearsal: true,
		Decoder: decoder{},
	})
	if err != nil {
		log.Fatal(err)
	}
	rouge, _ := result.Metric("rouge1")
	fmt.Println(rouge.Name, rouge.Value)
}
