//go:build browser

package browser

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// attempts tries to reach the server OUT from a page and to run scripts that are not the page's own, as text of a
// server could if it were not escaped. It ends when the policy of the page has stopped each attempt.
const attempts = `new Promise(done => {
	const OUT = %OUT%, HOSTILE = %HOSTILE%;
	const stopped = new Set();
	const expected = ["connect-src " + OUT + "/fetch", "connect-src " + OUT + "/beacon", "img-src " + OUT + "/image",
		"script-src-elem " + OUT + "/script", "style-src-elem " + OUT + "/style", "frame-src " + OUT,
		"media-src " + OUT + "/media", "form-action " + OUT + "/form", "script-src-elem inline", "script-src-attr inline",
		"style-src-attr inline"];
	document.addEventListener("securitypolicyviolation", event => {
		stopped.add(event.effectiveDirective + " " + event.blockedURI);
		if (expected.every(e => stopped.has(e))) done([]);
	});
	setTimeout(() => done([...expected.filter(e => !stopped.has(e)), "stopped: " + [...stopped].join(", ")]), 20000);
	const add = (tag, attributes) => {
		const e = Object.assign(document.createElement(tag), attributes);
		document.body.append(e);
		return e;
	};
	fetch(OUT + "/fetch").catch(() => {});
	navigator.sendBeacon(OUT + "/beacon");
	add("img", {src: OUT + "/image"});
	add("script", {src: OUT + "/script"});
	add("link", {rel: "stylesheet", href: OUT + "/style"});
	add("iframe", {src: OUT + "/frame"});
	add("audio", {src: OUT + "/media"});
	add("script", {textContent: "window.pwned = 5"});
	document.body.insertAdjacentHTML("beforeend", HOSTILE + "<p style='color: red' onclick='window.pwned = 6'>");
	document.body.lastElementChild.click();
	add("form", {action: OUT + "/form", method: "post"}).submit();
})`

// policyHolds requires that a page cannot reach another server or run another script. It leaves its attempts in the
// page.
func policyHolds(t *testing.T, tab context.Context) {
	t.Helper()
	var reached sync.Map
	outside := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Store(r.URL.Path, true)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	js := strings.NewReplacer("%OUT%", strconv.Quote(outside), "%HOSTILE%", strconv.Quote(script)).Replace(attempts)
	allowed, err := chromedp.Run(tab, chromedp.Evaluate[[]string](js, chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	require.Empty(t, allowed, "the policy did not stop these")
	require.True(t, eval[bool](t, tab, "window.pwned === undefined"), "a foreign script ran in the page")
	reached.Range(func(path, _ any) bool {
		t.Errorf("the page reached %s%s in spite of its policy", outside, path)
		return true
	})
	// A page without the policy reaches the same server and runs the same scripts.
	control := newTab(t)
	open(t, control, outside)
	js = strings.Replace(js, "20000", "100", 1)
	allowed, err = chromedp.Run(control, chromedp.Evaluate[[]string](
		strings.Replace(js, `.submit()`, ``, 1), chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	require.NotEmpty(t, allowed)
	waitFor(t, control, "window.pwned")
	for _, path := range []string{"/fetch", "/beacon", "/image", "/script", "/style", "/frame", "/media"} {
		require.Eventually(t, func() bool { _, ok := reached.Load(path); return ok }, pageTimeout, pageTimeout/1000, path)
	}
}
