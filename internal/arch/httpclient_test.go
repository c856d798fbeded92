package arch

import (
	"go/ast"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// clientMakers are the packages that make HTTP clients: the test's own, and that of everything else, with the rules for
// redirects, proxies and authorities.
var clientMakers = []string{"backends/internal/nethttp", "internal/httpclient"}

// clientNames are net/http's ways to a client.
var clientNames = []string{"Client", "DefaultClient", "Transport", "DefaultTransport", "Get", "Post", "PostForm",
	"Head", "ProxyFromEnvironment"}

func TestClientsAreMadeInOnePlace(t *testing.T) {
	made := map[string]int{}
	for _, s := range sources(t) {
		types := map[ast.Node]bool{} // *http.Client, which makes none
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StarExpr:
				types[n.X] = true
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok || x.Name != "http" || !slices.Contains(clientNames, n.Sel.Name) || types[n] {
					break
				}
				made[s.pkg]++
				require.Contains(t, clientMakers, s.pkg, "%s uses http.%s: make the client with internal/httpclient", s.at(n),
					n.Sel.Name)
			}
			return true
		})
	}
	require.Len(t, made, len(clientMakers), "the makers' own are found")
}
