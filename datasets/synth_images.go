package datasets

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// synthImageSide is the width and height of an invented image in pixels.
const synthImageSide = 16

// synthImageFormat returns Pillow's name for the format of record i's image.
func synthImageFormat(i int) string { return []string{"JPEG", "PNG"}[i%2] }

// synthImage returns a small valid image, different for every record, as a JSON string in base64.
func synthImage(i int) []byte {
	m := image.NewNRGBA(image.Rect(0, 0, synthImageSide, synthImageSide))
	for y := range synthImageSide {
		for x := range synthImageSide {
			m.SetNRGBA(x, y, color.NRGBA{R: uint8(i), G: uint8(x*16 + i>>8), B: uint8(y*16 + i>>16), A: 255})
		}
	}
	var b bytes.Buffer
	var err error
	if synthImageFormat(i) == "JPEG" {
		err = jpeg.Encode(&b, m, nil)
	} else {
		err = png.Encode(&b, m)
	}
	if err != nil {
		panic(err) // unreachable: both formats support this size, and memory accepts all bytes
	}
	return jsontext.AppendQuoted(nil, base64.StdEncoding.EncodeToString(b.Bytes()))
}

// catalogueRow generates a product, and a list of category paths that contains the correct one among similar ones.
func catalogueRow(g *generator, _ int, s SynthSet, r *SynthRecord) {
	top, middle := g.words(1), g.words(1)
	paths := make([]string, g.between(3, 6))
	for i := range paths {
		paths[i] = strings.Join([]string{top, middle, g.words(2)}, " > ")
		if i%3 == 2 {
			paths[i] = strings.Join([]string{top, g.words(1), g.words(1)}, " > ")
		}
	}
	c := &s.Row.Scoring.Columns
	r.set(c.Target, paths[g.between(0, len(paths)-1)])
	r.set(c.Brand, g.words(1))
	r.setJSON(c.Secondhand, g.next()&7 == 0)
	r.set("product_title", g.words(5))
	r.set("product_description", firstWords(r.Input, 60))
	r.setJSON("potential_product_categories", paths)
}

// firstWords returns the first n words of a text.
func firstWords(text string, n int) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(n, len(words))], " ")
}
