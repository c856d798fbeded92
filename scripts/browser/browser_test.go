//go:build browser

package browser

import (
	"bytes"
	"context"
	_ "embed" // checks.js
	"fmt"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// The program under test and the browser, which scripts/test-browser.sh finds.
var (
	program  = os.Getenv("BROWSER_TEST_PROGRAM")
	chromium = os.Getenv("BROWSER_TEST_CHROMIUM")
)

//go:embed checks.js
var checksJS string

// pageTimeout bounds each test on a page. The machine of CI is slow and shared.
const pageTimeout = 2 * time.Minute

var browser context.Context // a tab of the browser, from which each test opens its own

func TestMain(m *testing.M) {
	if program == "" || chromium == "" {
		fmt.Println("BROWSER_TEST_PROGRAM and BROWSER_TEST_CHROMIUM are not set; use `make test-browser`")
		os.Exit(1)
	}
	os.Exit(withBrowser(m))
}

func withBrowser(m *testing.M) int {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's sandbox rejects root
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Println("Chromium does not start:", err)
		return 1
	}
	browser = ctx
	return m.Run()
}

// newTab opens a tab for a test.
func newTab(t *testing.T) context.Context {
	t.Helper()
	tab, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	require.NoError(t, chromedp.Do(tab))
	ctx, cancel := context.WithTimeout(tab, pageTimeout)
	t.Cleanup(cancel)
	return ctx
}

// eval returns the value of a JavaScript expression in the page. It may use checks.
func eval[T any](t *testing.T, tab context.Context, expression string) T {
	t.Helper()
	v, err := tryEval[T](tab, expression)
	require.NoError(t, err, expression)
	return v
}

func tryEval[T any](tab context.Context, expression string) (T, error) {
	return chromedp.Run(tab, chromedp.Evaluate[T]("(() => {"+checksJS+"return "+expression+"})()"))
}

// waitFor waits until a JavaScript expression in the page is true. A page that is loading has no value for it yet.
func waitFor(t *testing.T, tab context.Context, expression string) {
	t.Helper()
	for {
		ok, err := tryEval[bool](tab, "Boolean("+expression+")")
		if ok {
			return
		}
		select {
		case <-tab.Done():
			t.Fatalf("%s did not become true: %v, %v", expression, tab.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func open(t *testing.T, tab context.Context, address string) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(address)))
}

// look is a window that shows a page.
type look struct {
	width  int64
	scheme string
}

func looks() (all []look) {
	for _, width := range []int64{360, 800, 1600} {
		for _, scheme := range []string{"light", "dark"} {
			all = append(all, look{width, scheme})
		}
	}
	return all
}

func (l look) String() string { return fmt.Sprintf("%d px %s", l.width, l.scheme) }

// apply sets the size of the window and its colour scheme.
func (l look) apply(t *testing.T, tab context.Context) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab, chromedp.EmulateViewport(l.width, 900),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}})
			return err
		})))
}

// readable asserts that a page can be read in a window: nothing is cut or pale, and every chart has its curves. The
// screenshot has the window's size and is not blank.
func readable(t *testing.T, tab context.Context, l look) {
	t.Helper()
	for _, check := range []string{"layout", "contrast", "charts"} {
		require.Empty(t, eval[[]string](t, tab, "checks."+check+"()"), "%v, %s", l, check)
	}
	shot, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(shot))
	require.NoError(t, err)
	require.EqualValues(t, l.width, picture.Bounds().Dx())
	r, g, b, _ := picture.At(1, 1).RGBA()
	require.Equal(t, l.scheme == "dark", r+g+b < 3*0x8000, "%v: the background is %x %x %x", l, r, g, b)
	colours := map[[3]uint32]bool{}
	for y := 0; y < picture.Bounds().Dy(); y += 2 {
		for x := 0; x < picture.Bounds().Dx(); x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	require.Greater(t, len(colours), 10, "%v: the page is empty", l)
}

// mlperf runs the program to its end and returns what it printed.
func mlperf(t *testing.T, wantCode int, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	code := 0
	if exit, ok := err.(*exec.ExitError); ok {
		code = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
	require.Equal(t, wantCode, code, "%q: %s", args, out)
	return string(out)
}

// server is a simulated server with its data set.
type server struct{ url, dataset string }

// startServer starts a simulator with a small data set, and stops it with the test.
func startServer(t *testing.T, args ...string) server {
	t.Helper()
	dir := t.TempDir()
	dataset, ready := filepath.Join(dir, "data.json"), filepath.Join(dir, "ready")
	mlperf(t, 0, "dataset", "synth", "--samples", "64", "--output", dataset)
	sim := exec.Command(program, append([]string{"sim", "--dataset", dataset, "--ready-file", ready}, args...)...)
	sim.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, sim.Start())
	t.Cleanup(func() {
		_ = sim.Process.Signal(syscall.SIGTERM)
		_ = sim.Wait()
	})
	var address []byte
	require.Eventually(t, func() bool {
		address, _ = os.ReadFile(ready)
		return bytes.HasSuffix(address, []byte("\n"))
	}, time.Minute, 20*time.Millisecond, "the simulator is not ready")
	return server{strings.TrimSpace(string(address)), dataset}
}

// recordFolder returns a folder whose records are validated after the test.
func recordFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	t.Cleanup(func() { schematest.Records(t, folder) })
	return folder
}

// runArgs are the arguments of a short Server test.
func (s server) runArgs(folder string, more ...string) []string {
	return append([]string{"run", "--model", "llama3.1-8b", "--scenario", "Server", "--target-qps", "350",
		"--min-queries", "700", "--min-duration", "2s", "--dataset", s.dataset, "--endpoint", s.url,
		"--output-dir", folder, "--no-progress"}, more...)
}

// script is the answer of a hostile server. It would set pwned if any of it ran.
const script = `</pre></td></script><script>window.pwned=1</script><img src=x onerror="window.pwned=2">` +
	`<svg onload="window.pwned=3"><a href="javascript:window.pwned=4">`

// hostileProxy passes requests on, and answers every tenth POST with status 500 and script.
func hostileProxy(t *testing.T, to string) string {
	t.Helper()
	pass := simtest.Forward(t, to)
	var posts atomic.Int64
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && posts.Add(1)%10 == 0 {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(script))
			return
		}
		pass.ServeHTTP(w, r)
	}))
}
