//go:build browser

package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// compress returns a picture with 256 colours at most. The others become the nearest of these.
func compress(data []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	bounds := full.Bounds()
	counts := map[color.Color]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[full.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return cmp.Compare(counts[b], counts[a]) })
	palette := choose(colours)
	nearest := make(map[color.Color]uint8, len(colours))
	for _, c := range colours {
		nearest[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[full.At(x, y)])
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&out, small)
	return out.Bytes(), err
}

// choose returns 256 colours at most, of those that come first. It leaves out a colour that is close to one it has chosen,
// so that a small spot keeps its colour, and shades at the edges of letters do not take all places.
func choose(colours []color.Color) color.Palette {
	const close = 10 // of 255, in all channels together
	palette := color.Palette{colours[0]}
	for _, c := range colours[1:] {
		if len(palette) < 256 && distance(c, palette.Convert(c)) > close {
			palette = append(palette, c)
		}
	}
	return palette
}

// distance returns by how much two colours differ, of 255 in each channel.
func distance(a, b color.Color) int {
	d := 0
	x, y := color.RGBAModel.Convert(a).(color.RGBA), color.RGBAModel.Convert(b).(color.RGBA)
	for _, channel := range [][2]uint8{{x.R, y.R}, {x.G, y.G}, {x.B, y.B}} {
		d += max(int(channel[0])-int(channel[1]), int(channel[1])-int(channel[0]))
	}
	return d
}
