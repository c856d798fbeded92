package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// A campaign's accuracy test shows the scores of the following step, and its audits are named.
func TestCampaignShowsScoresAndNamesAudits(t *testing.T) {
	folder := t.TempDir()
	steps := ""
	for _, test := range []string{layout.Accuracy, campaign.Score, "TEST06"} {
		steps += fmt.Sprintf(`{"id": "Offline/%s", "state": "done"},`, test)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, layout.StateName), fmt.Appendf(nil, `{"schema": %q,
		"model": "llama3.1-8b", "system": "one", "round": "v6.1", "division": "closed", "steps": [%s]}`, campaign.Schema,
		steps[:len(steps)-1]), 0o600))
	_, outcomes, err := campaign.Inspect(folder)
	require.NoError(t, err)
	run := outcomes[0].Folder
	require.NoError(t, os.MkdirAll(run, 0o755))
	require.NoError(t, atomicfile.WriteJSON(filepath.Join(run, record.FileName), &record.Record{Schema: record.Schema,
		Model: "llama3.1-8b", Scenario: "Offline", Mode: "accuracy", Verdict: record.Valid}))
	require.NoError(t, os.WriteFile(filepath.Join(run, campaign.ScoreRecord), []byte(`{"metrics": [
		{"name": "rouge1", "value": 38.1, "text": "'38.1'", "min": 38.39, "pass": false}]}`), 0o600))
	a, b := read(t, folder), read(t, folder)
	require.Contains(t, a.Notes, "audits are not compared: Offline/TEST06")
	r := Compare([]*Source{a, b}, Settings{})
	fits(t, r)
	require.Empty(t, r.Pairs[0].Rows)
	text := textOf(t, r)
	require.Contains(t, text, "accuracy of B: rouge1 38.1 (at least 38.39: FAIL)")
	require.NotContains(t, text, "result ()")
}

// A step that did not run has no result, and is named.
func TestCampaignNamesWhatIsNotDone(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, layout.StateName), fmt.Appendf(nil, `{"schema": %q,
		"model": "llama3.1-8b", "system": "one", "round": "v6.1", "division": "closed", "steps": [
		{"id": "Offline/%s", "state": "pending"}]}`, campaign.Schema, layout.Accuracy), 0o600))
	s := read(t, folder)
	require.Empty(t, s.Results)
	require.Equal(t, []string{"Offline/" + layout.Accuracy + " is not done"}, s.Notes)
}
