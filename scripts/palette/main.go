package main

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"slices"
)

const colours = 255

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "palette: write `go run ./scripts/palette big.png small.png`")
		os.Exit(2)
	}
	if err := convert(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "palette:", err)
		os.Exit(1)
	}
}

func convert(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	picture, err := png.Decode(in)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	small := image.NewPaletted(picture.Bounds(), frequent(picture))
	draw.Draw(small, small.Bounds(), picture, picture.Bounds().Min, draw.Src)
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(out, small); err != nil {
		return err
	}
	return out.Close()
}

// frequent returns the most frequent colours of a picture.
func frequent(picture image.Image) color.Palette {
	count := map[color.RGBA]int{}
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
		}
	}
	list := make([]color.RGBA, 0, len(count))
	for c := range count {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var p color.Palette
	for _, c := range list[:min(len(list), colours)] {
		p = append(p, c)
	}
	return p
}
