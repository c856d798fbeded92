package runtest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

func TestRecordsFitTheSchema(t *testing.T) {
	for _, mode := range []models.Mode{models.Performance, models.Accuracy} {
		text, err := json.Marshal(runtest.Record("llama3.1-8b", models.Server, mode))
		require.NoError(t, err)
		require.NoError(t, schematest.Validate(text))
	}
}
