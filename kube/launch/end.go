package launch

import (
	"encoding/json"
	"fmt"

	"github.com/mlperf-go/mlperf-go/internal/worker"
)

// parseEnd returns the exit code of worker.json.
func parseEnd(text []byte) (int, error) {
	var e worker.Ended
	if err := json.Unmarshal(text, &e); err != nil {
		return 0, fmt.Errorf("reading %s: %w", worker.File, err)
	}
	return e.Exit, nil
}
