package pickle

import (
	"bytes"
	"encoding/json"
	"image/color"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkImage compares the PNG in a row with the pixels that Pillow recorded in the same row.
func checkImage(t *testing.T, line string) {
	t.Helper()
	var row struct {
		ID     string
		Image  []byte
		Pixels [][]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(line), &row))
	m, err := png.Decode(bytes.NewReader(row.Image))
	require.NoError(t, err, row.ID)
	require.Equal(t, 11, m.Bounds().Dx())
	require.Equal(t, 3, m.Bounds().Dy())
	for y, pixels := range row.Pixels {
		for x, p := range pixels {
			if row.ID == "I;16" {
				var want uint16
				require.NoError(t, json.Unmarshal(p, &want))
				require.Equal(t, color.Gray16{Y: want}, m.At(x, y))
				continue
			}
			var want [4]int
			require.NoError(t, json.Unmarshal(p, &want))
			got := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
			if want[3] > 0 || row.ID != "LA" { // a transparent pixel has no color
				require.Equal(t, want, [4]int{int(got.R), int(got.G), int(got.B), int(got.A)}, "%s %d %d", row.ID, x, y)
			}
		}
	}
}

func TestImagesRefused(t *testing.T) {
	for name, c := range map[string]struct {
		state []any
		says  string
	}{
		"no state": {nil, "an image without its pixels"},
		"no size":  {[]any{nil, "L", int64(1), nil, []byte{1}}, "an image without its pixels"},
		"huge":     {[]any{nil, "L", Tuple{int64(1 << 40), int64(1 << 40)}, nil, []byte{1}}, "pixels"},
		"short": {[]any{nil, "RGB", Tuple{int64(2), int64(2)}, nil, []byte{1}},
			"the wrong number of bytes for its size"},
		"short bits": {[]any{nil, "1", Tuple{int64(9), int64(2)}, nil, []byte{1}},
			"the wrong number of bytes for its size"},
		"mode": {[]any{nil, "CMYK", Tuple{int64(1), int64(1)}, nil, []byte{1, 2, 3, 4}},
			`an image in mode "CMYK"`},
		"no palette": {[]any{nil, "P", Tuple{int64(1), int64(1)}, nil, []byte{1}}, "without its palette"},
		"past palette": {[]any{nil, "P", Tuple{int64(1), int64(1)}, &List{Ints: []int32{1, 2, 3}}, []byte{1}},
			"a color outside of its palette"},
	} {
		w := writer{most: maxRow}
		err := w.image(&Object{Class: allowed["PIL.Image.Image"], State: &List{Items: c.state}})
		require.ErrorContains(t, err, c.says, name)
	}
}

// The size of an image is at least one pixel each way, and at most maxPixels in all.
func TestSizesOfImages(t *testing.T) {
	const number, size = "the wrong number of bytes for its size", " pixels"
	for _, c := range []struct {
		width, height any
		want          string
	}{
		{int64(0), int64(1), size}, {int64(1), int64(0), size}, {int64(-1), int64(1), size}, {int64(1), int64(-1), size},
		{"1", int64(1), size}, {int64(1), 1.0, size}, {int64(maxPixels), int64(1), number},
		{int64(maxPixels + 1), int64(1), size}, {int64(1), int64(maxPixels), number}, {int64(1), int64(maxPixels + 1),
			size},
		{int64(1 << 13), int64(1 << 13), number}, {int64(1 << 13), int64(1<<13 + 1), size},
		{int64(1<<13 + 1), int64(1 << 13), size}, {int64(1), int64(1), ""},
	} {
		w := writer{most: maxRow}
		state := &List{Items: []any{nil, "L", Tuple{c.width, c.height}, nil, []byte{1}}}
		err := w.image(&Object{Class: allowed["PIL.Image.Image"], State: state})
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, 1, w.images)
			continue
		}
		require.ErrorContains(t, err, c.want, "%v x %v", c.width, c.height)
	}
}
