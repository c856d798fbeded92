package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// The state of a running test fits the terminal, is replaced in place, and leaves nothing behind, whether the test ends
// or is interrupted.
func TestTheStateOfATestFitsTheTerminal(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		columns     int
		interrupted bool
		duration    string
		code        int
	}{
		"80 columns":  {80, false, "3s", 1},
		"40 columns":  {40, false, "3s", 1},
		"interrupted": {80, true, "5m", 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"), "--fault", "http_500=0.05", "--seed", "3")
			w := inTerminal(t, uint16(c.columns), []string{"TERM=xterm", "NO_COLOR="}, "mlperf-go", "run", "--model",
				"llama3.1-8b", "--scenario", "Server", "--target-qps", "100", "--min-queries", "1", "--min-duration", c.duration,
				"--samples", "64", "--endpoint", url, "--no-preflight-query", "--retries", "0", "--output-dir", "run")
			if c.interrupted {
				w.until(0, "TPOT p99")
				w.write("\x03")
			}
			code, text := w.end()
			require.Equal(t, c.code, code, text)
			drawn := 0
			for line := range strings.Lines(escapes.ReplaceAllString(text, "")) {
				line = strings.TrimSuffix(line, "\n")
				if strings.Contains(line, "in flight") || strings.HasPrefix(line, "  TTFT p99") {
					require.LessOrEqual(t, utf8.RuneCountInString(line), c.columns, line)
					drawn++
				}
			}
			require.GreaterOrEqual(t, drawn, 2, text)
			require.Regexp(t, "Server [0-9]+/[0-9]+ .*/s, [0-9]+ in flight, .*\n  TTFT p99 .*\n  TPOT p99 ", text)
			left := screen(t, text, c.columns)
			require.NotContains(t, left, "in flight", "a part of the state is left behind")
			require.NotContains(t, left, "\n  TTFT p99")
			require.Contains(t, left, "vllm", "the lines before it are gone")
		})
	}
}

// terminalParts matches the sequences that drawing and colours use, or a character.
var terminalParts = regexp.MustCompile(`(?s)\x1b\[(\d*)([AJm])|.`)

// screen returns what a terminal with a number of columns shows after some output.
func screen(t *testing.T, text string, columns int) string {
	t.Helper()
	lines, row, column := [][]rune{nil}, 0, 0
	for _, part := range terminalParts.FindAllStringSubmatch(text, -1) {
		switch {
		case part[2] == "A":
			up, err := strconv.Atoi(part[1])
			require.NoError(t, err)
			row = max(row-up, 0)
		case part[2] == "J":
			lines = lines[:row+1]
			lines[row] = lines[row][:min(column, len(lines[row]))]
		case part[2] == "m":
		case part[0] == "\n":
			row, column = row+1, 0
		default:
			if column == columns {
				row, column = row+1, 0
			}
			for len(lines) <= row {
				lines = append(lines, nil)
			}
			lines[row] = append(lines[row][:min(column, len(lines[row]))], []rune(part[0])...)
			column++
		}
		for len(lines) <= row {
			lines = append(lines, nil)
		}
	}
	var all strings.Builder
	for _, line := range lines {
		all.WriteString(string(line) + "\n")
	}
	return all.String()
}

// Other output goes above the drawn lines, which the next draw shows again.
func TestOtherOutputGoesAboveADrawing(t *testing.T) {
	var to bytes.Buffer
	d := &drawing{to: &to}
	require.NoError(t, d.draw("a 1", "b 1"))
	require.NoError(t, d.draw("a 2", "b 2"))
	_, err := d.Write([]byte("a note\n"))
	require.NoError(t, err)
	require.Equal(t, "a note\n\n", screen(t, to.String(), 80))
	require.NoError(t, d.draw("a 3", "b 3", "c 3"))
	require.Equal(t, "a note\na 3\nb 3\nc 3\n\n", screen(t, to.String(), 80))
	require.NoError(t, d.draw())
	require.NoError(t, d.draw())
	require.Equal(t, "a note\n\n", screen(t, to.String(), 80))
}

func TestBars(t *testing.T) {
	for want, got := range map[string]string{
		"[>-------]": bar(0, 10), "[====>---]": bar(.5, 10), "[========]": bar(1, 10), "": bar(.5, 9), "ab…": cut("abcd", 3),
		"abcd": cut("abcd", 4),
	} {
		require.Equal(t, want, got)
	}
	require.Equal(t, bar(1, 12), bar(7, 12))
	require.Equal(t, "…", cut("abcd", 0))
}
