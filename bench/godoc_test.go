package bench

import (
	"go/format"
	"strings"
	"testing"
)

func TestGoDocHasALineForEachRate(t *testing.T) {
	r := Report{Environment: Environment{CPU: "a processor", Go: "go1.26", Procs: 2}}
	cpu, late := Measure{Name: rateCPU, Unit: "%"}, Measure{Name: rateMedian, Unit: "µs"}
	for i, e := range exactness {
		for _, n := range []int{3000, 100} {
			value := func(x float64) Spread { return Spread{x, x, x, 1} }
			cpu.Rows = append(cpu.Rows, Row{Contender: e.contender, N: n, Value: value(float64(i) + 0.5)})
			late.Rows = append(late.Rows, Row{Contender: e.contender, N: n, Value: value(float64(n + i))})
		}
	}
	r.Scenarios = []Scenario{{Name: "density", Measures: []Measure{cpu, late}}}
	text, err := GoDoc(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `
//	timers a second   package time     default          Slack: 1ms       Slack: 10ms      Precise
//	100               0.5 %, 100 µs    1.5 %, 101 µs    2.5 %, 102 µs    3.5 %, 103 µs    4.5 %, 104 µs
//	3,000             0.5 %, 3000 µs   1.5 %, 3001 µs   2.5 %, 3002 µs   3.5 %, 3003 µs   4.5 %, 3004 µs
package foliot
`
	if !strings.HasSuffix(string(text), want) {
		t.Errorf("the file does not end with:%s\nbut is:\n%s", want, text)
	}
	if formatted, err := format.Source(text); err != nil || string(formatted) != string(text) {
		t.Errorf("error %v; the file is not formatted:\n%s", err, text)
	}
	r.Scenarios[0].Measures[1].Rows = late.Rows[1:]
	if _, err := GoDoc(r); err == nil {
		t.Error("no error for a report without one of the figures")
	}
}
