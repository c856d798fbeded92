package wiretest

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// Golden finds a folder of recorded cases.
func Golden(t testing.TB, name string) string { return golden.Dir(t, name) }

// ContentType is the Content-Type of a response as recorded.
func ContentType(response []byte) string {
	for line := range strings.SplitSeq(string(response), "\r\n") {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "content-type") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
