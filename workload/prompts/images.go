package prompts

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf-go/workload/lengths"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

const (
	imageStream uint64 = 0x696d6167 << 32
	mostImages         = 64 // of one request
)

// pictures adds images to the user's message of each chat request.
type pictures struct {
	Source
	p     *profile.Profile
	total float64 // weights of the resolutions
}

func withImages(src Source, p *profile.Profile) (Source, error) {
	if !p.API.IsChat() {
		return nil, fmt.Errorf("profile %s: data.images: only requests of api.kind chat, messages or responses carry "+
			"images", p.Name)
	}
	if len(p.Data.Images.Resolutions) == 0 {
		return nil, fmt.Errorf("profile %s: data.images.resolutions: the list is empty", p.Name)
	}
	x := &pictures{Source: src, p: p}
	for _, r := range p.Data.Images.Resolutions {
		x.total += weight(r)
	}
	return x, nil
}

func weight(r profile.Resolution) float64 {
	if r.Weight == 0 {
		return 1
	}
	return r.Weight
}

// part is a part of the content of a message.
type part struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

func (x *pictures) Request(session, call int, r *Request) error {
	if err := x.Source.Request(session, call, r); err != nil {
		return err
	}
	if len(r.Messages) > 0 || len(r.IDs) > 0 {
		return fmt.Errorf("data.images: data of kind %s has no text to put images into", x.p.Data.Kind)
	}
	seen := session
	if n := x.Sessions(); n > 0 {
		seen %= n
	}
	random := source(x.p.Seed, imageStream+uint64(call)<<32, seen)
	i := x.p.Data.Images
	n := min(lengths.Tokens(i.Count, random), mostImages)
	before := int(float64(len(r.Text)) * i.At)
	for before > 0 && before < len(r.Text) && r.Text[before]&0xC0 == 0x80 { // within a character
		before--
	}
	var parts []part
	if before > 0 {
		parts = append(parts, part{Type: "text", Text: r.Text[:before]})
	}
	for range n {
		url, err := x.draw(random)
		if err != nil {
			return err
		}
		parts = append(parts, part{Type: "image_url", Image: &imageURL{url}})
	}
	if before < len(r.Text) {
		parts = append(parts, part{Type: "text", Text: r.Text[before:]})
	}
	list, err := json.Marshal([]struct {
		Role    string `json:"role"`
		Content []part `json:"content"`
	}{{"user", parts}})
	r.Messages, r.Text = list, ""
	return err
}

// draw returns a new picture as a data URL. A gradient of random colours differs from every other one, so that caches
// of images have no effect, and is encoded fast.
func (x *pictures) draw(r *rand.Rand) (string, error) {
	size := x.p.Data.Images.Resolutions[0]
	at := r.Float64() * x.total
	for _, one := range x.p.Data.Images.Resolutions {
		size = one
		if at -= weight(one); at < 0 {
			break
		}
	}
	palette := make(color.Palette, 256)
	for i := range palette {
		palette[i] = color.RGBA{uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32()), 255}
	}
	picture := image.NewPaletted(image.Rect(0, 0, size.Width, size.Height), palette)
	step := 1 + r.IntN(64)
	for y := range size.Height {
		row := picture.Pix[y*picture.Stride:][:size.Width]
		for c := range row {
			row[c] = uint8((c + y) / step)
		}
	}
	var file bytes.Buffer
	var err error
	if x.p.Data.Images.Format == "jpeg" {
		err = jpeg.Encode(&file, picture, nil)
	} else {
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&file, picture)
	}
	format := cmp.Or(x.p.Data.Images.Format, "png")
	return "data:image/" + format + ";base64," + base64.StdEncoding.EncodeToString(file.Bytes()), err
}
