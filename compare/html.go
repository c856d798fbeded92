package compare

import (
	_ "embed" // the page's template
	"html/template"
	"io"

	"github.com/mlperf-go/mlperf-go/report"
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("compare").Funcs(template.FuncMap{
	"digits":  digits,
	"percent": func(share float64) float64 { return 100 * share },
	"name":    (*Pair).name,
	"notes":   (*Pair).notes,
	"shown":   func(d Difference, v string) string { return d.shown(v) },
}).Parse(pageHTML))

// HTML writes the comparison as a page that loads nothing from the network.
func (r *Report) HTML(w io.Writer) error {
	return report.WriteDocument(w, "Comparison", pageTemplate, r)
}
