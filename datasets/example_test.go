package datasets_test

import (
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf-go/datasets"
)

// New checks samples made in memory like Open checks a file.
func ExampleNew() {
	d, err := datasets.New([]datasets.Sample{
		{InputIDs: []int32{128000, 9906, 1917}, Target: "a greeting"},
		{InputIDs: []int32{128000, 13347}},
	}, datasets.Options{Schema: "mine", Vocabulary: 128256})
	fmt.Println(len(d.Samples), d.Samples[1].InputLen, err)

	_, err = datasets.New([]datasets.Sample{{InputIDs: []int32{}}}, datasets.Options{})
	var fault *datasets.Error
	if errors.As(err, &fault) {
		fmt.Printf("record %d, field %s: %s\n", fault.Record, fault.Field, fault.Found)
	}
	// Output:
	// 2 2 <nil>
	// record 1, field InputIDs: no token ids
}

// The synthetic vocabulary turns any text into ids and back.
func ExampleVocabulary() {
	v := datasets.SynthVocabulary()
	ids := v.Encode("balara delado, ok")
	fmt.Println(ids)
	fmt.Println(v.Decode(ids))
	// Output:
	// [6000 1258 44 32 111 107]
	// balara delado, ok
}
