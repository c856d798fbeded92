//go:build browser

package browser

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// liveRun is a test that runs with --live.
type liveRun struct {
	url string
	cmd *exec.Cmd
	out *strings.Builder // complete after wait
	end chan struct{}
}

// startLive starts a test and waits until its page is served.
func startLive(t *testing.T, s server, args ...string) *liveRun {
	t.Helper()
	return startPage(t, s.runArgs(filepath.Join(recordFolder(t), "run"), append([]string{"--live"}, args...)...)...)
}

// startPage starts the program with --live and waits until its page is served.
func startPage(t *testing.T, args ...string) *liveRun {
	t.Helper()
	r := &liveRun{out: new(strings.Builder), end: make(chan struct{})}
	r.cmd = exec.Command(program, args...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := r.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	found := make(chan string, 1)
	go func() {
		defer close(r.end)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			fmt.Fprintln(r.out, in.Text())
			if u, ok := strings.CutPrefix(in.Text(), "live page: "); ok {
				found <- u
			}
		}
	}()
	select {
	case r.url = <-found:
	case <-r.end:
		t.Fatalf("the run ended without a page: %s", r.out)
	case <-time.After(time.Minute):
		t.Fatal("the run printed no address of its page")
	}
	return r
}

// wait returns the exit code of the run.
func (r *liveRun) wait() int {
	<-r.end
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}

// link passes connections on until it is cut, like that of a closed laptop, and again when it is restored.
type link struct {
	t       *testing.T
	to      string
	address string
	mu      sync.Mutex
	listen  net.Listener
	open    []net.Conn
}

func newLink(t *testing.T, to string) *link {
	l := &link{t: t, to: to, address: "127.0.0.1:0"}
	l.mend()
	t.Cleanup(l.cut)
	return l
}

func (l *link) mend() {
	listen, err := net.Listen("tcp", l.address)
	require.NoError(l.t, err)
	l.address, l.listen = listen.Addr().String(), listen
	go func() {
		for {
			from, err := listen.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", l.to)
			if err != nil {
				_ = from.Close()
				continue
			}
			l.mu.Lock()
			l.open = append(l.open, from, to)
			l.mu.Unlock()
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
}

func (l *link) cut() {
	_ = l.listen.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

// points is a JavaScript expression of the times of a chart's points.
const points = "mlperf.charts.find(c => c.id === 'ttft').data.curves[0].x"

// TestLive follows a running test whose server answers some requests with script.
func TestLive(t *testing.T) {
	s := startServer(t)
	s.url = hostileProxy(t, s.url)
	r := startLive(t, s, "--target-qps", "100", "--min-duration", "25s")
	host := strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/")
	laptop := newLink(t, host)
	tab, other := newTab(t), newTab(t)
	var asked requests
	asked.listen(t, tab)
	open(t, tab, "http://"+laptop.address)
	waitFor(t, tab, points+".length >= 2 && document.getElementById('failures').rows.length > 0")
	for _, l := range looks() {
		l.apply(t, tab)
		waitFor(t, tab, fmt.Sprintf("mlperf.charts.every(c => c.width <= %d)", l.width)) // it is redrawn after a moment
		readable(t, tab, l)
	}
	require.Equal(t, "RUNNING", eval[string](t, tab, "document.getElementById('verdict').textContent"))
	require.Contains(t, eval[string](t, tab, "document.getElementById('failures').innerText"), "http_500")
	failed := "[...document.getElementById('now').rows].find(r => r.cells[0].textContent === 'failed').cells[1]"
	require.Regexp(t, `^⚠ [1-9]\d*$`, eval[string](t, tab, failed+".textContent"))
	const colour = "getComputedStyle(%s).color"
	require.NotEqual(t, eval[string](t, tab, fmt.Sprintf(colour, failed)), eval[string](t, tab,
		fmt.Sprintf(colour, "document.getElementById('now').rows[0].cells[1]")), "failures have a colour of their own")
	require.Zero(t, eval[int](t, tab, "document.querySelectorAll('img, a, iframe, #stop').length"))
	require.Regexp(t, `(?s)answered\s+\d+ of \d+.*TPOT p99\s+[0-9.]+.*time to first token\s+(⚠ )?\d+ quer(y|ies) over 2s, \d+ `+
		`allowed.*time left\s+\d+s`, eval[string](t, tab, "document.getElementById('now').innerText"))
	reachesEverything(t, tab)
	withoutScripts(t, r.url)

	open(t, other, r.url) // a second viewer sees the same page
	policyHolds(t, other)
	open(t, other, r.url)
	before := eval[float64](t, tab, points+".at(-1)")
	laptop.cut()
	waitFor(t, tab, "document.getElementById('connection').textContent.startsWith('No connection')")
	waitFor(t, other, fmt.Sprintf("%s.at(-1) > %v + 2", points, before))
	laptop.mend()
	waitFor(t, tab, fmt.Sprintf("%s.at(-1) > %v + 2", points, before))
	require.Empty(t, eval[string](t, tab, "document.getElementById('connection').textContent"))
	require.True(t, eval[bool](t, tab, points+".every((x, i, all) => i === 0 || x === all[i - 1] + 1)"),
		"a second is missing or double after the reconnect")

	for _, viewer := range []context.Context{tab, other} {
		waitFor(t, viewer, "document.getElementById('verdict').textContent === 'INVALID'")
		require.Contains(t, eval[string](t, viewer, "document.getElementById('reasons').innerText"), "failed_samples")
		require.True(t, eval[bool](t, viewer, "window.pwned === undefined"), "a server's script ran in the page")
	}
	require.Equal(t, 1, r.wait(), r.out)
	for _, address := range asked.all() {
		require.True(t, strings.HasPrefix(address, "http://"+laptop.address+"/"), "the page asked for %s", address)
	}
}

// withoutScripts opens the live page with scripts turned off.
func withoutScripts(t *testing.T, address string) {
	t.Helper()
	tab := newTab(t)
	disableScripts(t, tab)
	looks()[0].apply(t, tab)
	open(t, tab, address)
	readable(t, tab, looks()[0])
	outline := strings.Join(eval[[]string](t, tab, "checks.outline()"), "\n")
	require.Contains(t, outline, "span: RUNNING")
	require.Contains(t, outline, "h3: TTFT over time\nsvg")
}

// TestLiveControl stops a test from its page, by the keyboard.
func TestLiveControl(t *testing.T) {
	s := startServer(t, "--ttft", "2s") // so that requests are in flight at the end
	r := startLive(t, s, "--target-qps", "100", "--min-duration", "5m", "--live-control")
	address, token, _ := strings.Cut(r.url, "#token=")
	require.Len(t, token, 26)
	stranger, tab := newTab(t), newTab(t)
	open(t, stranger, address)
	waitFor(t, stranger, points+".length >= 1") // the page reloads with the limits before its first second
	require.True(t, eval[bool](t, stranger, "document.getElementById('stop').hidden"), "a viewer without the token")
	for _, attempt := range []string{`{method: "POST"}`, `{method: "POST", headers: {"X-Live-Token": "wrong"}}`} {
		status, err := chromedp.Run(stranger, chromedp.Evaluate[int]("fetch('stop', "+attempt+").then(r => r.status)",
			chromedp.EvalAwaitPromise))
		require.NoError(t, err)
		require.Equal(t, 403, status)
	}
	open(t, tab, r.url)
	waitFor(t, tab, points+".length >= 1")
	tabTo(t, tab, "document.getElementById('stop')")
	require.NoError(t, chromedp.Do(tab, chromedp.KeyEvent(kb.Enter)))
	require.Contains(t, eval[string](t, tab, "document.getElementById('stop').textContent"), "ends without its result")
	require.NoError(t, chromedp.Do(tab, chromedp.KeyEvent(kb.Enter)))
	waitFor(t, tab, "document.getElementById('verdict').textContent === 'INTERRUPTED'")
	require.Contains(t, eval[string](t, tab, "document.getElementById('reasons').innerText"), "a viewer of the live page")
	require.Regexp(t, `(?s)failed\s+0\n.*cancelled\s+[1-9]\d*\n`,
		eval[string](t, tab, "document.getElementById('now').innerText"), "what the end cancels has not failed")
	require.Equal(t, 130, r.wait(), r.out)
}

// steps is a JavaScript expression of the text of the page's steps.
const steps = "document.getElementById('steps').innerText"

// TestLiveSweep shows the points of a sweep as they come, its requests, and the server's metrics on the same axis.
func TestLiveSweep(t *testing.T) {
	s := startServer(t)
	r := startPage(t, "sweep", "--model", "llama3.1-8b", "--rates", "40,80", "--point-duration", "4s",
		"--point-warmup", "1s",
		"--point-queries", "20", "--dataset", s.dataset, "--endpoint", s.url, "--output-dir",
		filepath.Join(recordFolder(t), "sweep"), "--no-progress", "--metrics", "--live")
	tab := newTab(t)
	open(t, tab, r.url)
	waitFor(t, tab, steps+".includes('40/s') && document.getElementById('server-running') && "+points+".length > 3")
	waitFor(t, tab, "document.getElementById('now').innerText.includes('point 2 of 2')") // while it runs
	for _, l := range looks() {
		l.apply(t, tab)
		waitFor(t, tab, fmt.Sprintf("mlperf.charts.every(c => c.width <= %d)", l.width))
		readable(t, tab, l)
	}
	reachesEverything(t, tab)
	require.Equal(t, "limit of p99 2000 ms", eval[string](t, tab,
		"mlperf.charts.find(c => c.id === 'ttft').data.limits[0].name"))
	require.True(t, eval[bool](t, tab, "mlperf.charts.find(c => c.id === 'server-running').data.curves[0].x.at(-1) === "+
		points+".at(-1)"), "one axis")
	waitFor(t, tab, "document.getElementById('verdict').textContent === 'VALID'")
	require.Regexp(t, `(?s)TTFT p99.*40/s.*counts.*80/s.*counts`, eval[string](t, tab, steps))
	require.Equal(t, 0, r.wait(), r.out)
}

const twoRates = `schema: mlperf-go/profile/1
name: chat
data: {kind: random, input: 16, output: 4}
load:
  stages:
    - {arrival: constant, rate: 20, duration: 4s}
`

// TestLiveWorkload shows the requests of two treatments in sequence, and the verdict of both.
func TestLiveWorkload(t *testing.T) {
	s, folder := startServer(t), recordFolder(t)
	profile, treatments := filepath.Join(folder, "chat.yaml"), filepath.Join(folder, "treatments.yaml")
	require.NoError(t, os.WriteFile(profile, []byte(twoRates), 0o600))
	require.NoError(t, os.WriteFile(treatments, []byte("treatments:\n  - {name: slow, load.stages.0.rate: 10}\n"+
		"  - {name: fast, load.stages.0.rate: 30}\n"), 0o600))
	r := startPage(t, "bench", "run", "-w", profile, "-e", treatments, "-U", s.url, "--slo", "ttft<30s", "--output",
		filepath.Join(folder, "out"), "--live")
	tab := newTab(t)
	open(t, tab, r.url)
	waitFor(t, tab, "document.getElementById('now').innerText.includes('chat-fast') && "+points+".length > 4")
	for _, l := range looks() {
		l.apply(t, tab)
		waitFor(t, tab, fmt.Sprintf("mlperf.charts.every(c => c.width <= %d)", l.width))
		readable(t, tab, l)
	}
	require.Regexp(t, `(?s)answered\s+\d+ of \d+.*TTFT p99\s+[0-9.]+`,
		eval[string](t, tab, "document.getElementById('now').innerText"))
	waitFor(t, tab, "document.getElementById('verdict').textContent !== 'RUNNING'")
	require.Equal(t, 0, r.wait(), r.out)
	require.Equal(t, "VALID", eval[string](t, tab, "document.getElementById('verdict').textContent"))
	require.Contains(t, eval[string](t, tab, "document.body.innerText"), "2 of 2 runs are VALID")
}

// TestLiveCampaign shows the steps of a campaign, and the charts of the test that runs in a process of its own.
func TestLiveCampaign(t *testing.T) {
	r := startPage(t, "submission", "run", "--model", "llama3.1-8b", "--rehearsal-size", "normal",
		"--only", "Server/performance",
		"--only", "Server/preflight", "--no-progress", "--output-dir", filepath.Join(recordFolder(t), "campaign"), "--live",
		"--live-control")
	tab := newTab(t)
	open(t, tab, r.url)
	waitFor(t, tab, steps+".includes('running') && "+points+".length > 1")
	looks()[0].apply(t, tab)
	waitFor(t, tab, "mlperf.charts.every(c => c.width <= 360)")
	readable(t, tab, looks()[0])
	require.Regexp(t, `(?s)step\s+Server/performance.*answered`,
		eval[string](t, tab, "document.getElementById('now').innerText"))
	require.Contains(t, eval[string](t, tab, "document.getElementById('stop').textContent"), "Stop the campaign")
	waitFor(t, tab, "document.getElementById('verdict').textContent === 'VALID'")
	require.Regexp(t, `(?s)preflight\s+done.*performance\s+done\s+VALID`, eval[string](t, tab, steps))
	require.Equal(t, 0, r.wait(), r.out)
}
