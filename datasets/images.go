package datasets

import (
	"bytes"
	"encoding/base64"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// imageHeads maps the first bytes of image files to Pillow's names of the formats, which the reference puts into data
// URLs (docs/reference/benchmarks.md#data-sets).
var imageHeads = []struct{ begins, format string }{
	{"\xff\xd8", "JPEG"}, {"\x89PNG\r\n\x1a\n", "PNG"}, {"GIF8", "GIF"}, {"BM", "BMP"}, {"II*\x00", "TIFF"},
	{"MM\x00*", "TIFF"},
}

// imageFormat returns the format of an image file by its first bytes; empty if unknown.
func imageFormat(head []byte) string {
	for _, h := range imageHeads {
		if bytes.HasPrefix(head, []byte(h.begins)) {
			return h.format
		}
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		return "WEBP"
	}
	return ""
}

// appendImage appends the content part of an image: a data URL with the stored bytes, or the value itself if it is a
// URL. It returns the size of the image file in bytes, or 0 for a URL.
func (d *decoder) appendImage(dst, value []byte) ([]byte, int, *fault) {
	const try = "store the image file's own bytes, or their base64"
	if value[0] == '{' {
		if value = member(value, "bytes"); value == nil || value[0] != '"' {
			return dst, 0, &fault{found: "an image object without bytes",
				expected: "the image file's bytes (a reference to another file is not followed)", try: try}
		}
	}
	text, f := d.text(value)
	if f != nil {
		return dst, 0, f
	}
	dst = append(dst, `{"type":"image_url","image_url":{"url":"`...)
	for _, scheme := range []string{"data:image/", "https://", "http://"} {
		if len(text) > len(scheme) && text[:len(scheme)] == scheme {
			dst = jsontext.AppendQuoted(dst[:len(dst)-1], text)
			return append(dst, "}}"...), 0, nil
		}
	}
	size, f := base64Size(text)
	if f != nil {
		return dst, 0, f
	}
	head, _ := base64.StdEncoding.AppendDecode(nil, []byte(text[:min(len(text), 16)]))
	format := imageFormat(head)
	if format == "" {
		return dst, 0, &fault{found: "bytes of an unknown image format, " + shown(head),
			expected: "JPEG, PNG, GIF, WEBP, BMP or TIFF", try: try}
	}
	dst = append(append(append(dst, "data:image/"...), format...), ";base64,"...)
	return append(append(dst, text...), `"}}`...), size, nil
}

// base64Size checks base64 and returns the number of bytes it encodes.
func base64Size(text string) (int, *fault) {
	end := len(text)
	for end > 0 && len(text)-end < 2 && text[end-1] == '=' {
		end--
	}
	bad := len(text)%4 != 0 || end == 0
	for i := 0; i < end && !bad; i++ {
		c := text[i]
		bad = !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/')
	}
	if bad {
		return 0, &fault{found: "an image that is not base64, " + shown([]byte(text)),
			expected: "the image file's bytes in base64", try: "encode the whole file, without line breaks"}
	}
	return end * 3 / 4, nil
}

// member returns the value of an object's member, or nil. The object must be valid JSON.
func member(object []byte, name string) []byte {
	var found []byte
	s := scanner{b: object}
	s.object(func(key []byte, _ int) *fault {
		start := s.pos
		f := s.value()
		if f == nil && string(key) == name {
			found = object[start:s.pos]
		}
		return f
	})
	return found
}
