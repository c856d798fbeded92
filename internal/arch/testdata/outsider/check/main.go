// Command check checks a submission tree that is empty.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/mlperf-go/mlperf-go/submission/check"
)

func main() {
	folder, err := os.MkdirTemp("", "tree")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	report, err := check.Check(context.Background(), folder, check.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Valid, report.Counts.Errors > 0)
}
