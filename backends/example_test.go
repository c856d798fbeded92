package backends_test

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// lines is a driver whose requests are the prompt and a line end.
type lines struct{}

func init() { backends.Register("lines", lines{}) }

func (lines) Describe() backends.Description { return backends.Description{} }

func (lines) Encode(dst []byte, s *datasets.Sample, _ *backends.Config) ([]byte, error) {
	return append(append(dst, s.Input...), '\n'), nil
}

// Open returns the backend that answers the queries; the example of package run has one.
func (lines) Open(*backends.Config) (backends.Backend, error) {
	return nil, fmt.Errorf("nothing listens for lines")
}

func (lines) Probe(_ context.Context, e backends.Endpoint, c *backends.Config, _ *datasets.Sample,
	_ bool) (*backends.Probe, error) {
	return &backends.Probe{URL: e.URL, Models: []string{c.ServedModel}}, nil
}

// A driver is registered when the program starts, and is then chosen by its name: --backend lines.
func ExampleRegister() {
	driver, err := backends.Lookup("lines")
	if err != nil {
		fmt.Println(err)
		return
	}
	request, err := driver.Encode(nil, &datasets.Sample{Input: "one two"}, &backends.Config{})
	fmt.Printf("%q %v\n", request, err)
	// Output: "one two\n" <nil>
}
