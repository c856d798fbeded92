//go:build browser

package browser

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestCompare checks the page of compare of two runs with different settings, and one that is INVALID.
func TestCompare(t *testing.T) {
	s, failing := startServer(t), startServer(t, "--fault", "http_500=0.3", "--seed", "3")
	folder := recordFolder(t)
	a, b, c := filepath.Join(folder, "a"), filepath.Join(folder, "b"), filepath.Join(folder, "c")
	page := filepath.Join(t.TempDir(), "compare.html")
	mlperf(t, 0, s.runArgs(a)...)
	mlperf(t, 0, s.runArgs(b, "--target-qps", "340")...)
	mlperf(t, 1, failing.runArgs(c)...)
	mlperf(t, 1, "compare", a, b, c, "--gate", "--html", page)
	address := "file://" + page
	t.Run("can be read", func(t *testing.T) {
		showsParts(t, address, "h1: Comparison", "span: gate FAILED", "h3: Settings that differ", "h3: Figures",
			"h3: Not ranked")
	})
	t.Run("asks for nothing", func(t *testing.T) { asksForNothing(t, address) })
	t.Run("keyboard", func(t *testing.T) { wideTablesScroll(t, address) })
	t.Run("print", func(t *testing.T) { onPaper(t, address) })
}

// wideTablesScroll reaches each table that is wider than a narrow window by Tab, and scrolls it by the arrow keys.
func wideTablesScroll(t *testing.T, address string) {
	tab := newTab(t)
	looks()[0].apply(t, tab)
	open(t, tab, address)
	require.Zero(t, eval[int](t, tab, "checks.controls().length"))
	const wide = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
	n := eval[int](t, tab, wide+".length")
	require.Positive(t, n, "no table is wider than %d px", looks()[0].width)
	for i := range n {
		table := fmt.Sprintf("%s[%d]", wide, i)
		tabTo(t, tab, table)
		require.NoError(t, chromedp.Do(tab, chromedp.KeyEvent(strings.Repeat(kb.ArrowRight, 3))))
		waitFor(t, tab, table+".scrollLeft > 0")
	}
}
