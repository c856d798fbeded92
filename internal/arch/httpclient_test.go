package arch

import (
	"go/ast"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// clientMakers lists the packages that make HTTP clients: nethttp for the test, and httpclient for everything else,
// with the rules for redirects, proxies and authorities.
var clientMakers = []string{"backends/internal/nethttp", "internal/httpclient"}

// clientNames lists the names in net/http that make or provide a client.
var clientNames = []string{"Client", "DefaultClient", "Transport", "DefaultTransport", "Get", "Post", "PostForm",
	"Head", "ProxyFromEnvironment"}

func TestClientsAreMadeInOnePlace(t *testing.T) {
	made := map[string]int{}
	for _, s := range sources(t) {
		types := map[ast.Node]bool{} // uses of the type *http.Client, which make no client
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
