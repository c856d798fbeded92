package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"

	"github.com/mlperf-go/mlperf-go/run/record"
)

var documentTemplate = template.Must(template.New("document").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{{.Policy}}">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>{{.Style}}</style>
</head>
<body>
<h1>{{.Title}}</h1>
{{.Body}}
<p class="note">Written by mlperf-go {{.Version}}. This page loads nothing from the network.</p>
</body>
</html>
`))

// WriteDocument writes a page in the style and with the policy of the report. body, which escapes what data
// contains, is the content below the title.
func WriteDocument(w io.Writer, title string, body *template.Template, data any) error {
	var text bytes.Buffer
	if err := body.Execute(&text, data); err != nil {
		return fmt.Errorf("the page %q: %w", title, err)
	}
	return documentTemplate.Execute(w, map[string]any{"Title": title, "Policy": policy(pageJS),
		"Style": template.CSS(pageCSS), "Body": template.HTML(text.String()), //nolint:gosec // a template escaped it
		"Version": record.ThisTool().Version})
}
