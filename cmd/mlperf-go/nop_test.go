package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

const sleepyLog = `(APIServer pid=10) INFO 01-01 00:00:01.600 [utils.py:2] non-default args: {'model': 'org/m', ` +
	`'enable_sleep_mode': True}
(APIServer pid=10) INFO 01-01 00:00:04.500 [model.py:3] Using max model len 4096
(APIServer pid=10) INFO 01-01 00:00:32 [launcher.py:28] Available routes are:
`

const slept = `(EngineCore pid=20) INFO 01-01 00:01:00 [a.py:1] Sleep mode freed 50.5 GiB memory, 1.5 GiB memory is ` +
	`still in use.
(EngineCore pid=20) INFO 01-01 00:01:00 [a.py:2] It took 2.5 seconds to fall asleep.
`

const woke = "(EngineCore pid=20) INFO 01-01 00:01:09 [a.py:3] It took 0.75 seconds to wake up.\n"

// TestSleepMode: nop puts a server to sleep, once, if its log does not contain a sleep, and reads the new lines of the
// log.
func TestSleepMode(t *testing.T) {
	log := filepath.Join(t.TempDir(), "vllm.log")
	require.NoError(t, os.WriteFile(log, []byte(sleepyLog), 0o600))
	add := func(text string) {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil || f.Close() != nil {
			t.Errorf("the log: %v", err)
		}
	}
	var calls, sleeps atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		switch r.Method + " " + r.RequestURI {
		case "POST /sleep?level=1":
			sleeps.Add(1)
			add(slept)
		case "GET /is_sleeping":
			fmt.Fprint(w, `{"is_sleeping":true}`)
		case "POST /wake_up":
			add(woke)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	for i := range 2 { // the second time the log contains it already
		var stdout, stderr bytes.Buffer
		require.Zero(t, mainCode([]string{"mlperf-go", "nop", log, "--endpoint-url", server.URL}, nil, &stdout, &stderr),
			"%s", stderr.String())
		require.Contains(t, stdout.String(), "2.500 s, 50.500 GiB freed, 1.500 GiB in use\n")
		require.Contains(t, stdout.String(), "wake ")
		require.Equal(t, i == 1, strings.Contains(stderr.String(), server.URL+
			" was not asked (--endpoint-url): the log shows a sleep and a wake-up already"), stderr.String())
	}
	require.Equal(t, []int64{3, 1}, []int64{calls.Load(), sleeps.Load()})

	require.NoError(t, os.WriteFile(log, []byte(sleepyLog), 0o600))
	var stdout, stderr bytes.Buffer
	args := []string{"mlperf-go", "nop", log, "-U", server.URL + "/elsewhere"}
	require.Equal(t, 3, mainCode(args, nil, &stdout, &stderr))
	require.Contains(t, stderr.String(), "VLLM_SERVER_DEV_MODE=1")
}
