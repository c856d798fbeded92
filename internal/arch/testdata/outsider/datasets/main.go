// Command datasets makes a data set in memory and prints its statistics.
package main

import (
	"fmt"
	"log"

	"github.com/mlperf-go/mlperf-go/datasets"
)

func main() {
	samples := []datasets.Sample{{InputIDs: []int32{1, 2, 3}}, {InputIDs: []int32{4}}}
	set, err := datasets.New(samples, datasets.Options{Schema: "numbers", Vocabulary: 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(set.Samples), datasets.InputLengths(set))
}
