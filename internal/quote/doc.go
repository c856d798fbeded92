// Package quote writes texts as JSON strings, with the bytes of encoding/json, in a tenth of its time if they need no
// escapes, and in half of it if they are prose (docs/reference/measurements.md#texts-as-json).
//
//	body = quote.Text(body, text)   // without escapes for HTML
//	body = quote.HTML(body, text)   // as json.Marshal
//
// It must not import any package of this module.
package quote
