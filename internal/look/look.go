// Package look holds the parts that the pages of Foliot share, those of package inspect, of foliot serve and of foliot bench: the
// colours, the style of text, and the format of numbers and of the labels of axes.
//
// The page of foliot bench is written by Go and has no script. The other two are drawn by JavaScript. So there are two
// versions of the functions that write numbers: number.go and step.go, and number.js. Both pass the cases of
// testdata/cases.json.
package look

import "embed"

// Files holds palette.css, base.css and number.js, for a server of pages.
//
//go:embed palette.css base.css number.js
var Files embed.FS

// The style sheets, for a page that includes them.
var (
	//go:embed palette.css
	PaletteCSS string // custom properties for colours, in light and in dark

	//go:embed base.css
	BaseCSS string // fonts, headings, links and the outline of the focus
)
