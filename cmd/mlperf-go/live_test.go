package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/report/live"
)

// The page of a tune, a sweep or a campaign shows its step, and its expected end if that is known.
func TestThePageShowsTheExpectedEnd(t *testing.T) {
	var none *livePage
	none.state("a step", time.Hour) // without --live
	_, s, err := live.Open(t.Context(), live.Options{What: "tune", Address: "127.0.0.1:0"}, false)
	require.NoError(t, err)
	page := &livePage{Server: s}
	t.Cleanup(func() { page.end("", "", nil) })

	const left, layout = 90 * time.Minute, "2006-01-02 15:04"
	before := time.Now().Add(left)
	page.state("12 QPS", left)
	after := time.Now().Add(left)
	rows := shownNow(t, s.URL())
	require.Len(t, rows, 2)
	require.Equal(t, []string{"step", "12 QPS"}, rows[0])
	require.Equal(t, "ends about", rows[1][0])
	require.Contains(t, []string{before.Format(layout), after.Format(layout)}, rows[1][1])

	for _, unknown := range []time.Duration{0, -time.Second} {
		page.state("between two steps", unknown)
		require.Equal(t, [][]string{{"step", "between two steps"}}, shownNow(t, s.URL()))
	}
}

// shownNow returns the rows that a new viewer of the page sees.
func shownNow(t *testing.T, url string) (rows [][]string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"events", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	event := ""
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		switch name, value, _ := strings.Cut(in.Text(), ": "); {
		case name == "event":
			event = value
		case name == "data" && event == "now":
			require.NoError(t, json.Unmarshal([]byte(value), &rows))
			return rows
		}
	}
	t.Fatal("the stream ended without the state")
	return nil
}
