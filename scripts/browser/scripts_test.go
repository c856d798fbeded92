//go:build browser

package browser

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestScriptsParse compiles every script of the project without running it.
func TestScriptsParse(t *testing.T) {
	tab, seen := newTab(t), map[string]bool{}
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case !entry.Type().IsRegular() || filepath.Ext(path) != ".js":
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Empty(t, syntaxError(t, tab, string(text)), path)
		seen[entry.Name()] = true
		return nil
	}))
	require.Subset(t, seen, map[string]bool{"page.js": true, "live.js": true, "checks.js": true})
	require.Contains(t, syntaxError(t, tab, "(() => { const a = 1;\n const a = 2; })()"), "already been declared")
}

// syntaxError returns the error of a script that does not compile; empty: it compiles.
func syntaxError(t *testing.T, tab context.Context, script string) (text string) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		r, err := cdp.Call(ctx, target, runtime.CompileScript, runtime.CompileScriptParams{Expression: script})
		if err == nil && r.ExceptionDetails != nil {
			text = r.ExceptionDetails.Text
			if e := r.ExceptionDetails.Exception; e != nil {
				text += " " + e.Description
			}
		}
		return err
	})))
	return text
}
