package pickle

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// maxPixels is the maximum number of pixels of an image.
const maxPixels = 1 << 26

// image writes the pixels of a Pillow image as PNG, without loss, in base64.
func (w *writer) image(o *Object) error {
	state := elements(o.State)
	if len(state) < 5 {
		return damaged("an image without its pixels")
	}
	mode, _ := state[1].(string)
	size, _ := state[2].(Tuple)
	data, ok := bytesOf(state[4])
	if !ok || len(size) != 2 {
		return damaged("an image without its pixels")
	}
	width, ok1 := size[0].(int64)
	height, ok2 := size[1].(int64)
	if !ok1 || !ok2 || width < 1 || height < 1 || width > maxPixels || height > maxPixels/width {
		return refused(fmt.Sprintf("an image of %v x %v pixels", size[0], size[1]))
	}
	m, err := picture(mode, int(width), int(height), data, state[3])
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		return refused(fmt.Sprintf("an image that cannot be encoded as PNG (%v)", err))
	}
	w.images++
	w.base64(b.Bytes())
	return nil
}

// picture reads pixels in the modes that PNG supports.
func picture(mode string, width, height int, data []byte, palette any) (image.Image, error) {
	area := image.Rect(0, 0, width, height)
	n := width * height
	bands := map[string]int{"L": 1, "P": 1, "LA": 2, "RGB": 3, "RGBA": 4, "I;16": 2}[mode]
	if mode == "1" {
		return bits(area, data)
	}
	if bands == 0 {
		return nil, refused(fmt.Sprintf("an image in mode %q", foreign.Line(mode, 10)))
	}
	if len(data) != n*bands {
		return nil, damaged("an image with the wrong number of bytes for its size")
	}
	switch mode {
	case "L":
		return &image.Gray{Pix: data, Stride: width, Rect: area}, nil
	case "P":
		colors, err := paletteOf(palette)
		if err != nil {
			return nil, err
		}
		for _, c := range data {
			if int(c) >= len(colors) {
				return nil, damaged("an image with a color outside of its palette")
			}
		}
		return &image.Paletted{Pix: data, Stride: width, Rect: area, Palette: colors}, nil
	case "RGBA":
		return &image.NRGBA{Pix: data, Stride: 4 * width, Rect: area}, nil
	case "I;16":
		swapped := make([]byte, len(data))
		for i := 0; i < len(data); i += 2 {
			swapped[i], swapped[i+1] = data[i+1], data[i]
		}
		return &image.Gray16{Pix: swapped, Stride: 2 * width, Rect: area}, nil
	}
	m := image.NewNRGBA(area)
	for i := range n {
		pixel := m.Pix[4*i : 4*i+4]
		if mode == "RGB" {
			copy(pixel, data[3*i:3*i+3])
			pixel[3] = 255
		} else {
			l := data[2*i]
			pixel[0], pixel[1], pixel[2], pixel[3] = l, l, l, data[2*i+1]
		}
	}
	return m, nil
}

// bits reads black and white pixels, eight per byte, with padded rows.
func bits(area image.Rectangle, data []byte) (image.Image, error) {
	stride := (area.Dx() + 7) / 8
	if len(data) != stride*area.Dy() {
		return nil, damaged("an image with the wrong number of bytes for its size")
	}
	m := image.NewGray(area)
	for y := range area.Dy() {
		for x := range area.Dx() {
			if data[y*stride+x/8]>>(7-x%8)&1 == 1 {
				m.Pix[y*m.Stride+x] = 255
			}
		}
	}
	return m, nil
}

// paletteOf reads the red, green and blue of each color.
func paletteOf(v any) (color.Palette, error) {
	l, ok := v.(*List)
	if !ok || l.Len()%3 != 0 || l.Len() == 0 || l.Len() > 768 || len(l.Ints) != l.Len() {
		return nil, damaged("an image without its palette")
	}
	var p color.Palette
	for i := 0; i < l.Len(); i += 3 {
		p = append(p, color.NRGBA{uint8(l.Ints[i]), uint8(l.Ints[i+1]), uint8(l.Ints[i+2]), 255})
	}
	return p, nil
}
