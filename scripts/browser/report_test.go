//go:build browser

package browser

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// serve starts an HTTP server on loopback and returns its address.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return "http://" + l.Addr().String()
}

// reportOf runs a test against a server, and returns the address of its report.
func reportOf(t *testing.T, s server, wantCode int, args ...string) string {
	t.Helper()
	folder := filepath.Join(recordFolder(t), "run")
	mlperf(t, wantCode, s.runArgs(folder, args...)...)
	mlperf(t, 0, "report", folder)
	return "file://" + filepath.Join(folder, "report.html")
}

// requests records the addresses that a tab asks for.
type requests struct {
	mu   sync.Mutex
	list []string
}

func (r *requests) listen(t *testing.T, tab context.Context) {
	t.Helper()
	require.NoError(t, chromedp.Listen(tab, func(ev any) {
		if sent, ok := ev.(*network.EventRequestWillBeSent); ok {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.list = append(r.list, sent.Request.URL)
		}
	}))
}

func (r *requests) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.list...)
}

// TestReport checks the report of a run against a server that answers some requests with script.
func TestReport(t *testing.T) {
	s := startServer(t)
	s.url = hostileProxy(t, s.url)
	address := reportOf(t, s, 1, "--metrics", "--metrics-interval", "200ms")
	t.Run("can be read", func(t *testing.T) { reportCanBeRead(t, address) })
	t.Run("hostile text is text", func(t *testing.T) { hostileTextIsText(t, address) })
	t.Run("asks for nothing", func(t *testing.T) { asksForNothing(t, address) })
	t.Run("keyboard", func(t *testing.T) { keyboardReachesEverything(t, address) })
	t.Run("charts answer", func(t *testing.T) { chartsAnswer(t, address) })
	t.Run("mouse", func(t *testing.T) { chartsFollowTheMouse(t, address) })
	t.Run("without scripts", func(t *testing.T) { reportWithoutScripts(t, address) })
	t.Run("print", func(t *testing.T) { onPaper(t, address) })
}

// TestWorkloadReport checks the report of a workload with limits, several stages and failures.
func TestWorkloadReport(t *testing.T) {
	s := startServer(t, "--fault", "http_500=0.3", "--seed", "3")
	folder, profile := filepath.Join(recordFolder(t), "run"), filepath.Join(t.TempDir(), "chat.yaml")
	require.NoError(t, os.WriteFile(profile, []byte("schema: mlperf-go/profile/1\n"+
		"data: {kind: random, input: 20, output: 10}\nload: {stages: [{arrival: poisson, rate: 100, requests: 100}, "+
		"{arrival: closed, concurrency: 4, requests: 60}]}\n"),
		0o600))
	mlperf(t, 1, "bench", "run", "-w", profile, "--endpoint-url", s.url, "--output", folder,
		"--slo", "ttft:p99<20ms,itl:p90<20ms,e2e:p99<1s")
	mlperf(t, 0, "report", folder)
	address := "file://" + filepath.Join(folder, "report.html")
	t.Run("can be read", func(t *testing.T) {
		showsParts(t, address, "span: INVALID", "h3: Limits of the service", "h3: Latencies", "h3: By stage",
			"h3: Longest gap between tokens over time", "h3: Distribution of TTFT", "h3: Failed and repeated requests")
	})
	t.Run("keyboard", func(t *testing.T) { keyboardReachesEverything(t, address) })
	t.Run("without scripts", func(t *testing.T) { reportWithoutScripts(t, address) })
	t.Run("print", func(t *testing.T) { onPaper(t, address) })
}

func reportCanBeRead(t *testing.T, address string) {
	showsParts(t, address, "span: INVALID", "h3: Limits", "h3: Latencies", "h3: Charts", "h3: TTFT over time",
		"h3: Lag of the client", "h3: Running requests, as the server reports", "h3: Failed and repeated requests")
}

// showsParts requires that a report is readable in every look, and has these parts.
func showsParts(t *testing.T, address string, parts ...string) {
	t.Helper()
	tab := newTab(t)
	var first []string
	for _, l := range looks() {
		l.apply(t, tab)
		open(t, tab, address)
		readable(t, tab, l)
		outline := eval[[]string](t, tab, "checks.outline()")
		if first == nil {
			first = outline
		}
		require.Equal(t, first, outline, "%v shows other parts than %v", l, looks()[0])
	}
	page := strings.Join(first, "\n")
	for _, part := range parts {
		require.Contains(t, page, part)
	}
	require.Equal(t, strings.Count(page, "figure"), strings.Count(page, "svg"), "a figure has one chart")
	// Opening every part shows tables and settings, which must fit too.
	looks()[0].apply(t, tab)
	open(t, tab, address)
	eval[bool](t, tab, "(document.querySelectorAll('details').forEach(d => d.open = true), true)")
	readable(t, tab, looks()[0])
}

func hostileTextIsText(t *testing.T, address string) {
	tab := newTab(t)
	open(t, tab, address)
	eval[bool](t, tab, "(document.querySelectorAll('details').forEach(d => d.open = true), true)")
	text := eval[string](t, tab, "document.body.innerText")
	require.Contains(t, text, script[:40], "the page shows what the server sent")
	require.True(t, eval[bool](t, tab, "window.pwned === undefined"), "a server's script ran in the page")
	require.Zero(t, eval[int](t, tab, "document.querySelectorAll('img, a, svg[onload], iframe').length"))
	// The same text runs in a page that trusts it, so that the test above can fail.
	trusting := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<pre>" + script))
	}))
	open(t, tab, trusting)
	waitFor(t, tab, "window.pwned")
}

// asksForNothing lists the requests of the page, and those that scripts in it attempt.
func asksForNothing(t *testing.T, address string) {
	tab := newTab(t)
	var asked requests
	asked.listen(t, tab)
	open(t, tab, address)
	require.Equal(t, []string{address}, asked.all(), "the page itself and nothing else")
	policyHolds(t, tab)
}

// keyboardReachesEverything presses Tab through the page.
func keyboardReachesEverything(t *testing.T, address string) {
	tab := newTab(t)
	open(t, tab, address)
	reachesEverything(t, tab)
}

func reachesEverything(t *testing.T, tab context.Context) {
	t.Helper()
	n := eval[int](t, tab, "checks.controls().length")
	require.Positive(t, n)
	reached := map[int]bool{}
	scrolled := eval[int](t, tab, "document.querySelectorAll('.scroll').length") // Tab stops at wide tables, too
	for range n + scrolled {
		require.NoError(t, chromedp.Do(tab, chromedp.KeyEvent(kb.Tab)))
		at := eval[struct {
			At    int  `json:"at"`
			Shown bool `json:"shown"`
		}](t, tab, "checks.focused()")
		require.True(t, at.Shown, "the focus does not show on control %d", at.At)
		if at.At >= 0 {
			reached[at.At] = true
		}
		if len(reached) == n {
			break
		}
	}
	for i := range n {
		require.True(t, reached[i], "Tab does not reach control %d: %s", i,
			eval[string](t, tab, "checks.controls()["+strconv.Itoa(i)+"].outerHTML.slice(0, 200)"))
	}
}

// tabTo presses Tab until an element has the focus, and requires that the focus shows.
func tabTo(t *testing.T, tab context.Context, element string) {
	t.Helper()
	stops := eval[int](t, tab, "checks.controls().length + document.querySelectorAll('.scroll').length")
	for range stops {
		require.NoError(t, chromedp.Do(tab, chromedp.KeyEvent(kb.Tab)))
		if eval[bool](t, tab, "document.activeElement === "+element) {
			require.True(t, eval[bool](t, tab, "checks.focused().shown"), "the focus does not show")
			return
		}
	}
	t.Fatalf("Tab does not reach %s", element)
}

func disableScripts(t *testing.T, tab context.Context) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})))
}

// reportWithoutScripts reads the page with scripts turned off.
func reportWithoutScripts(t *testing.T, address string) {
	tab := newTab(t)
	disableScripts(t, tab)
	open(t, tab, address)
	require.Zero(t, eval[int](t, tab, "document.querySelectorAll('button').length"), "no control without a function")
	for _, l := range looks() {
		l.apply(t, tab)
		readable(t, tab, l)
	}
	outline := strings.Join(eval[[]string](t, tab, "checks.outline()"), "\n")
	require.Contains(t, outline, "span: INVALID")
	require.Contains(t, outline, "h3: TTFT over time\nsvg\nsummary: Values as a table")
}
