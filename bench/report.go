package bench

import "time"

// A Report is the result of a run. It is the content of the file that -json writes. Tables, pictures and
// comparisons are made from it alone.
type Report struct {
	Environment Environment `json:"environment"`
	Contenders  []Contender `json:"contenders"` // those with rows below, in the order in which they are shown
	Scenarios   []Scenario  `json:"scenarios"`

	// Interrupted is set when the run was ended before everything was measured. The figures that are there are
	// valid.
	Interrupted bool `json:"interrupted,omitempty"`
}

// An Environment is where and how a report was made.
type Environment struct {
	Foliot string    `json:"foliot"` // version of the module
	Go     string    `json:"go"`
	OS     string    `json:"os"`
	Arch   string    `json:"arch"`
	CPU    string    `json:"cpu,omitempty"`    // model name of the processor, where known
	Kernel string    `json:"kernel,omitempty"` // name and release, where known
	Cores  int       `json:"cores"`            // processors of the machine that the process may use
	Procs  int       `json:"procs"`            // GOMAXPROCS
	Memory int64     `json:"memory,omitempty"` // memory of the machine in bytes, where known
	When   time.Time `json:"when"`             // the beginning, in UTC
	Took   float64   `json:"took"`             // seconds
	Mode   string    `json:"mode"`             // Quick or Full
	Timers int       `json:"timers"`           // outstanding timers, unless a scenario says otherwise
	Rounds int       `json:"rounds"`           // rounds of a measure, at most
}

// The modes of a run.
const (
	Quick = "quick"
	Full  = "full"
)

// A Contender is one of the things that are compared: timers, a data structure or an event loop.
type Contender struct {
	Name    string `json:"name"`              // as in -contender and in rows
	Title   string `json:"title"`             // for reading
	Module  string `json:"module,omitempty"`  // import path or program; empty for the standard library
	Version string `json:"version,omitempty"` // of the module or program, where known
	Kind    string `json:"kind"`              // one of the kinds below

	// Price is how the name of a measure begins in which the contender is worse by choice: it is a variant with an
	// option that trades this for something else. Empty: there is none.
	Price string `json:"price,omitempty"`
}

// The kinds of contenders.
const (
	Standard = "standard" // Go's own timers, goroutines and channels: the bases of comparison
	Ours     = "foliot"   // a part of Foliot
	Peer     = "peer"     // another Go package, or a baseline that bench brings along
	External = "external" // another program
)

// A Scenario is a use of timers that a user recognises, with its measures.
type Scenario struct {
	Name     string    `json:"name"`  // as in -scenario
	Title    string    `json:"title"` // a few words
	About    string    `json:"about"` // one sentence
	Measures []Measure `json:"measures"`
	Plots    []Plot    `json:"plots,omitempty"`
	Error    string    `json:"error,omitempty"` // why all or some of it could not be measured
}

// A Measure is one kind of figure of a scenario, with a row for each contender and number of timers.
type Measure struct {
	Name   string `json:"name"`
	Unit   string `json:"unit,omitempty"`   // "ns", "µs", "ms", "B", "MiB", "%", "M/s" ...; empty: a plain number
	Better string `json:"better,omitempty"` // Lower or Higher; empty: neither
	Base   string `json:"base,omitempty"`   // the contender that the others are compared with; empty: there are no ratios
	Main   bool   `json:"main,omitempty"`   // the figure to look at first
	Of     string `json:"of,omitempty"`     // what N counts, as it follows the number: "a second"; empty: "timers"
	Rows   []Row  `json:"rows"`
}

// The values of Measure.Better.
const (
	Lower  = "lower"
	Higher = "higher"
)

// A Row is the result of one contender with one number of timers.
type Row struct {
	Contender string `json:"contender"`
	N         int    `json:"n,omitempty"` // timers, or what Measure.Of says; 0: the measure has no such number
	Value     Spread `json:"value"`
	// Ratio says how many times better than the base this contender is: above 1 is a win whatever the
	// measure, below 1 a loss. It is computed round by round: whatever slowed the machine down in a round
	// slowed down both. The base itself has none.
	Ratio Spread   `json:"ratio,omitzero"`
	Early int      `json:"early,omitempty"` // timers that fired before their time; none may
	Notes []string `json:"notes,omitempty"` // what a reader must know to judge this figure
	Error string   `json:"error,omitempty"` // why there is no figure, or why it is not reliable
}

// A Spread summarizes the rounds of one measure.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	Rounds int     `json:"rounds"` // number of rounds; 0: it was not measured
}

// A Plot is the data of a picture.
type Plot struct {
	Name   string   `json:"name"` // one of the names below
	Title  string   `json:"title"`
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// The names of plots. A scenario has at most one plot of each name.
const (
	PlotGrowth   = "growth"   // cost of an operation, against the number of outstanding timers
	PlotLateness = "lateness" // lateness, against the share of timers that are at most that late
	PlotCPU      = "cpu"      // processors in use while timers fire, against time
	PlotMemory   = "memory"   // bytes per timer, against the number of timers

	PlotRateCPU      = "rate-cpu"      // processor time, against the number of timers that fire in a second
	PlotRateLateness = "rate-lateness" // lateness, against the number of timers that fire in a second
)

// An Axis is the x or the y axis of a plot.
type Axis struct {
	Label string `json:"label"`
	Unit  string `json:"unit,omitempty"`
	Log   bool   `json:"log,omitempty"`
	// Tail is set for an axis of shares from 0 to 1 whose last hundredth matters most. It is drawn by the
	// number of nines.
	Tail bool `json:"tail,omitempty"`
}

// A Series is one contender's line in a plot.
type Series struct {
	Contender string       `json:"contender"`
	Points    [][2]float64 `json:"points"` // x, y; by ascending x
}
