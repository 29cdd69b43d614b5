package doccheck

import "testing"

const figuresSource = `package p

import "time"

const (
	patience = int64(5 * time.Millisecond)
	short    = time.Microsecond
	tick     = 1 << 14 // ns
	slots    = 700     // a number of slots
)

var other = 300 * time.Millisecond

// A chunk has 128 bytes, or 64 to 96
// bytes when it is small. A run of it takes 42 µs.
type chunk struct{}

func wait() { time.Sleep(20 * time.Microsecond) }
`

func constants(t *testing.T) (c Constants) {
	t.Helper()
	if err := c.Add("p.go", []byte(figuresSource)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMeasuredFiguresOutsideOfGeneratedBlocksAreFound(t *testing.T) {
	c := constants(t)
	for _, test := range []struct{ page, want string }{
		// Constants of the code.
		{"It waits 5 ms, 5 milliseconds, 5,000 µs, a tick of 16.384 µs, 1 µs or 20 µs, at most 300 ms.", ""},
		{"A chunk has 128 bytes, a small one 64 to 96 bytes.", ""},
		{"| when | what |\n|---|---|\n| after 5 ms | it ends |\n", ""},
		// Not figures.
		{"2^31 entries, 64 branches, Go 1.26, 20 years, 1 s, 10 times in a day, 0x1f, M-31, tens of ns, four bytes", ""},
		// Places in which figures are not checked.
		{"<!-- figures:s -->\n\n| a | 83 µs [1.9x] |\n\n83 µs\n\n<!-- /figures -->\n", ""},
		{"`83 µs` and\n```\n83 µs\n```\n[x](a.md#83 µs) <!-- 83 µs -->\n", ""},
		{"## What was tried and rejected\n\n83 µs\n\n### More\n\n84 µs\n", ""},
		{"| id | requirement | why |\n|---|---|---|\n| 1 | at most 83 µs | no |\n", ""},
		// Faults.
		{"It takes 83 µs.", `"83 µs"`},
		{"It takes 83\nµs.", `"83 µs"`},
		{"It takes 83µs.", `"83µs"`},
		{"It takes 5 to 83 µs.", `"5 to 83 µs"`},
		{"It takes 83 or 20 µs.", `"83 or 20 µs"`},
		{"It takes 42 µs.", `"42 µs"`},
		{"It takes 700 ns.", `"700 ns"`},
		{"It takes 83 microseconds.", `"83 microseconds"`},
		{"It is 1.9x as fast", `"1.9x"`},
		{"It is 1.9 times as fast", `"1.9 times as"`},
		{"It is 3 times faster", `"3 times faster"`},
		{"It is 1.9× as fast", `"1.9×"`},
		{"It takes 40 % of a processor", `"40 %"`},
		{"It makes 19.3 M/s", `"19.3 M/s"`},
		{"A timer takes 38 bytes", `"38 bytes"`},
		{"A million of them take 38 MB", `"38 MB"`},
		{"![How late timers of 83 µs are](x.svg)", `"83 µs"`},
		{"- a list\n  with 83 µs\n", `"83 µs"`},
		{"<!-- figures:s -->\n<!-- /figures -->\n83 µs\n", `"83 µs"`},
		{"## What was tried\n\n## What is there\n\n83 µs\n", `"83 µs"`},
		{"### What was tried\n\n## What is there\n\n83 µs\n", `"83 µs"`},
		{"| id | requirement | why |\n|---|---|---|\n| 1 | fast | 83 µs |\n", `"83 µs"`},
		{"| requirement |\n|---|\n\n| other |\n|---|\n| 83 µs |\n", `"83 µs"`},
		{"| step | ns |\n|---|---|\n| clock | 25 |\n", `"25 ns"`},
	} {
		check(t, test.page, CheckFigures("page.md", test.page, c), test.want)
	}
}

func TestSourceThatDoesNotParseIsAnError(t *testing.T) {
	var c Constants
	if err := c.Add("p.go", []byte("package")); err == nil {
		t.Error("no error")
	}
}

func TestFiguresOfAnotherRunAreFound(t *testing.T) {
	const all = "<!-- figures:s -->\n| took | 83 µs | 40 µs [2.1x, 2.0 to 2.2] |\n<!-- /figures -->\n\n| took | 84 µs |\n"
	for _, test := range []struct{ page, want string }{
		{"<!-- figures:summary -->\n| Something | took | 1,000 | 83 µs | 40 µs [2.1x, 2.0 to 2.2] |\n<!-- /figures -->\n", ""},
		{"| 85 µs |\n<!-- figures:summary -->\n85 µs\n<!-- /figures -->\n| 85 µs |\n", ""},
		{"<!-- figures:summary -->\n| took | 40 µs [2.2x, 2.0 to 2.2] |\n<!-- /figures -->\n", `"40 µs [2.2x, 2.0 to 2.2]" is not`},
		{"<!-- figures:summary -->\n| took | 84 µs |\n<!-- /figures -->\n", `"84 µs" is not`},
	} {
		check(t, test.page, CheckSameRun("README.md", test.page, all), test.want)
	}
}
