//go:build browser

package browser

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// onPaper asserts that a page can be printed: the verdict, the tables and the charts are there in the colours of white
// paper, also for a reader with a dark window, and nothing that only a screen can use.
func onPaper(t *testing.T, address string) {
	t.Helper()
	tab := newTab(t)
	looks()[3].apply(t, tab) // 800 px, dark
	open(t, tab, address)
	screen := eval[[]string](t, tab, "checks.outline()")
	require.NoError(t, chromedp.Do(tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print",
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		return err
	})))
	visible := func(selector string) string {
		return "[...document.querySelectorAll('" + selector + "')].filter(e => e.checkVisibility())"
	}
	require.Empty(t, eval[[]string](t, tab, visible("button, input, select, summary, .values, .screen")+
		".map(e => e.outerHTML)"), "paper has no controls")
	require.Equal(t, withoutControls(screen), eval[[]string](t, tab, "checks.outline()"))
	require.Empty(t, eval[[]string](t, tab, "checks.contrast()"))
	require.Empty(t, eval[[]string](t, tab, visible(".scroll")+".filter(e => getComputedStyle(e).overflowX !== 'visible')"+
		".map(e => e.innerText.slice(0, 40))"), "paper does not scroll")
	require.Equal(t, "rgb(255, 255, 255)", eval[string](t, tab, "getComputedStyle(document.body).backgroundColor"))

	pdf, err := chromedp.Run(tab, chromedp.PrintToPDF())
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(pdf, []byte("%PDF-")))
	text := unpackPDF(t, pdf)
	curves := eval[[]string](t, tab, visible("path.curve")+".map(e => getComputedStyle(e).stroke)")
	if strings.Contains(strings.Join(screen, "\n"), "figure") {
		require.NotEmpty(t, curves)
	}
	for _, colour := range curves {
		require.True(t, strokes(t, text, colour), "no curve of %s is on paper", colour)
	}
}

// withoutControls returns the parts of an outline that are on paper.
func withoutControls(outline []string) (list []string) {
	for _, part := range outline {
		if !strings.HasPrefix(part, "button") && !strings.HasPrefix(part, "summary") {
			list = append(list, part)
		}
	}
	return list
}

// unpackPDF returns the texts of the compressed streams of a PDF file.
func unpackPDF(t *testing.T, pdf []byte) string {
	t.Helper()
	var all strings.Builder
	for _, part := range bytes.Split(pdf, []byte("stream\n"))[1:] {
		if stream, err := zlib.NewReader(bytes.NewReader(part)); err == nil {
			_, _ = io.Copy(&all, stream) // a font is compressed, too
		}
	}
	require.NotZero(t, all.Len())
	return all.String()
}

// strokeOf matches the command of PDF that sets the colour of lines.
var strokeOf = regexp.MustCompile(`([\d.]+) ([\d.]+) ([\d.]+) RG`)

// strokes returns whether a line of a PDF file has a colour of CSS.
func strokes(t *testing.T, pdf, css string) bool {
	t.Helper()
	var want [3]float64
	_, err := fmt.Sscanf(css, "rgb(%f, %f, %f)", &want[0], &want[1], &want[2])
	require.NoError(t, err)
	for _, found := range strokeOf.FindAllStringSubmatch(pdf, -1) {
		same := true
		for i, text := range found[1:] {
			v, err := strconv.ParseFloat(text, 64)
			same = same && err == nil && math.Abs(255*v-want[i]) < .5
		}
		if same {
			return true
		}
	}
	return false
}
