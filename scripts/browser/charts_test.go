//go:build browser

package browser

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// chart is a chart of a page, by the identifier of its figure.
type chart struct {
	t   *testing.T
	tab context.Context
	id  string
}

// drawn returns the drawing as text.
func (c chart) drawn() string {
	return eval[string](c.t, c.tab, "document.querySelector('#"+c.id+" .chart').innerHTML")
}

// values returns the text that shows the values at one place.
func (c chart) values() string {
	return eval[string](c.t, c.tab, "document.querySelector('#"+c.id+" .values').textContent")
}

// span returns the length of the visible part of the x axis.
func (c chart) span() float64 {
	return eval[float64](c.t, c.tab, "(c => c.range[1] - c.range[0])(mlperf.charts.find(c => c.id === '"+c.id+"'))")
}

// mouse sends an event of the mouse at a share of the chart's width, which it scrolls into the window.
func (c chart) mouse(kind input.DispatchMouseEventType, share float64, options ...chromedp.MouseOption) {
	c.t.Helper()
	at := eval[struct{ Left, Top, Width, Height float64 }](c.t, c.tab, "(e => (e.scrollIntoView({block: 'center'}), "+
		"(b => ({Left: b.left, Top: b.top, Width: b.width, Height: b.height}))(e.getBoundingClientRect())))"+
		"(document.querySelector('#"+c.id+" .chart'))")
	require.NoError(c.t, chromedp.Do(c.tab,
		chromedp.MouseEvent(kind, at.Left+share*at.Width, at.Top+at.Height/2, options...)))
}

// held is a mouse with its left button pressed.
func held(p *input.DispatchMouseEventParams) {
	p.Button, p.Buttons, p.ClickCount = input.MouseButtonLeft, 1, 1
}

// chartsAnswer zooms a chart and reads its values by the keyboard.
func chartsAnswer(t *testing.T, address string) {
	tab := newTab(t)
	open(t, tab, address)
	ttft, rates := chart{t, tab, "run0-ttft"}, chart{t, tab, "run0-rates"}
	press := func(key string) { require.NoError(t, chromedp.Do(tab, chromedp.KeyEvent(key))) }
	before, beside := ttft.drawn(), rates.drawn()
	eval[bool](t, tab, "(document.querySelector('#run0-ttft .chart').focus(), true)")
	press(kb.ArrowRight)
	values := ttft.values()
	require.Regexp(t, `^[0-9.]+: p50 [0-9.-]+, p90 [0-9.-]+, p99 [0-9.-]+$`, values)
	press(kb.ArrowRight)
	require.NotEqual(t, values, ttft.values())
	press("+")
	require.NotEqual(t, before, ttft.drawn())
	require.NotEqual(t, beside, rates.drawn(), "charts over time move together")
	press("0")
	press(kb.Escape)
	require.Equal(t, before, ttft.drawn())
	require.Equal(t, beside, rates.drawn())
	eval[bool](t, tab, "(document.querySelector('#run0-ttft button').click(), true)")
	require.NotEqual(t, before, ttft.drawn(), "the button + zooms")
}

// chartsFollowTheMouse hovers over a chart, drags over a part of it, and shows everything again.
func chartsFollowTheMouse(t *testing.T, address string) {
	tab := newTab(t)
	open(t, tab, address)
	ttft, rates := chart{t, tab, "run0-ttft"}, chart{t, tab, "run0-rates"}
	before, beside, all := ttft.drawn(), rates.drawn(), ttft.span()
	require.Empty(t, ttft.values())
	ttft.mouse(chromedp.MouseMoved, .3)
	left := ttft.values()
	require.Regexp(t, `^[0-9.]+: p50 [0-9.-]+, p90 [0-9.-]+, p99 [0-9.-]+$`, left)
	require.Contains(t, ttft.drawn(), `class="cursor"`)
	ttft.mouse(chromedp.MouseMoved, .8)
	require.NotEqual(t, left, ttft.values(), "the values are those under the mouse")
	rates.mouse(chromedp.MouseMoved, .5)
	require.Empty(t, ttft.values(), "the mouse has left the chart")
	require.NotEmpty(t, rates.values())

	drag := func() {
		ttft.mouse(chromedp.MouseMoved, .3)
		ttft.mouse(chromedp.MousePressed, .3, held)
		ttft.mouse(chromedp.MouseMoved, .6, held)
		require.Contains(t, ttft.drawn(), `class="range"`, "the marked part shows")
		ttft.mouse(chromedp.MouseReleased, .6, held)
		require.InDelta(t, .35, ttft.span()/all, .08, "the marked part fills the chart, whose axis takes a part of its width")
		require.InDelta(t, ttft.span(), rates.span(), 1e-9, "charts over time move together")
	}
	reset := map[string]func(){
		"double click": func() {
			for _, clicks := range []int64{1, 2} {
				count := func(p *input.DispatchMouseEventParams) { p.ClickCount = clicks }
				ttft.mouse(chromedp.MousePressed, .5, held, count)
				ttft.mouse(chromedp.MouseReleased, .5, held, count)
			}
		},
		"button": func() { clickOn(t, tab, "#run0-ttft .tools button:nth-of-type(3)") },
	}
	for name, act := range reset {
		drag()
		act()
		leaveCharts(t, tab)
		require.Equal(t, before, ttft.drawn(), name)
		require.Equal(t, beside, rates.drawn(), name)
	}
	ttft.mouse(chromedp.MouseMoved, .5)
	ttft.mouse(chromedp.MousePressed, .5, held)
	ttft.mouse(chromedp.MouseReleased, .5, held)
	require.InDelta(t, all, ttft.span(), 1e-9, "a click alone does not zoom")
}

// clickOn clicks with the mouse on an element.
func clickOn(t *testing.T, tab context.Context, selector string) {
	t.Helper()
	at := eval[[2]float64](t, tab, "(e => (e.scrollIntoView({block: 'center'}), (b => [b.left + b.width / 2, "+
		"b.top + b.height / 2])(e.getBoundingClientRect())))(document.querySelector('"+selector+"'))")
	require.NoError(t, chromedp.Do(tab, chromedp.MouseClickXY(at[0], at[1])))
}

// leaveCharts moves the mouse away from all charts.
func leaveCharts(t *testing.T, tab context.Context) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab, chromedp.MouseEvent(chromedp.MouseMoved, 1, 1)))
}
