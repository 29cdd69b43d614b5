package bench

import (
	"runtime"
	"runtime/debug"
	"slices"
)

// A contender is somebody to race against, and how to make its timers.
type contender struct {
	Contender
	timers func() (timers, error) // nil: it has none, but takes part in some scenarios of its own
	most   int                    // it cannot hold more timers than that in a reasonable time; 0: no bound
	why    string                 // the reason for most
	coarse bool                   // a tick of a millisecond or more, so that sparse timers tell nothing new
	racy   bool                   // it has data races of its own, and stays out of tests with the race detector
	ask    func() string          // the version, where a program has to be asked for it
}

// contenders are all there are, in the order in which they are shown.
var contenders = append([]contender{
	{Contender: Contender{Name: "std", Title: "standard library", Kind: Standard}, timers: stdTimers},
	{Contender: Contender{Name: "goroutines", Title: "goroutines", Kind: Standard}},
	{Contender: Contender{Name: "channel", Title: "buffered channel", Kind: Standard}},
	{Contender: Contender{Name: "foliot", Title: "Foliot", Module: foliotModule, Kind: Ours}, timers: foliotTimers},
	{Contender: Contender{Name: "precise", Title: "Foliot, Precise", Module: foliotModule, Kind: Ours}, timers: preciseTimers},
	{Contender: Contender{Name: "one-worker", Title: "Foliot, Workers: 1", Module: foliotModule, Kind: Ours}, timers: oneWorkerTimers},
	{Contender: Contender{Name: "drop-in", Title: "Foliot's package time", Module: foliotModule + "/time", Kind: Ours}, timers: dropInTimers},
	{Contender: Contender{Name: "tasks", Title: "Foliot's tasks", Module: foliotModule, Kind: Ours}},
	{Contender: Contender{Name: "tasks-slack", Title: "Foliot's tasks, Slack: 10ms", Module: foliotModule, Kind: Ours}},
	{Contender: Contender{Name: "queue", Title: "Foliot's queue", Module: foliotModule, Kind: Ours}},
	{Contender: Contender{Name: "wheel", Title: "Foliot's wheel", Module: foliotModule + "/wheel", Kind: Ours}},
	{Contender: Contender{Name: "loop", Title: "Foliot's loop", Module: foliotModule + "/loop", Kind: Ours}},
	{Contender: Contender{Name: "lists", Title: "a wheel of linked lists", Kind: Peer}},
	{Contender: Contender{Name: "heap", Title: "container/heap and a mutex", Kind: Peer}, timers: heapTimers},
}, append(peers, scripts...)...)

const foliotModule = "github.com/foliot-go/foliot"

func find(name string) (contender, bool) {
	if i := rank(name); i < len(contenders) {
		return contenders[i], true
	}
	return contender{}, false
}

// rank returns the place of a contender in the list.
func rank(name string) int {
	if i := slices.IndexFunc(contenders, func(c contender) bool { return c.Name == name }); i >= 0 {
		return i
	}
	return len(contenders)
}

// Contenders returns all contenders there are.
func Contenders() []Contender {
	all := make([]Contender, len(contenders))
	for i, c := range contenders {
		all[i] = c.Contender
	}
	return all
}

// described returns what is known about a contender once it has taken part.
func (c contender) described() Contender {
	d := c.Contender
	switch {
	case c.ask != nil:
		d.Version = c.ask()
	case c.Kind == Standard || c.Module == "":
		d.Version = runtime.Version()
	default:
		d.Version = moduleVersion(c.Module)
	}
	return d
}

// moduleVersion returns the version of the module that a package comes from, as this program was built.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	best, version := "", ""
	for _, m := range append(info.Deps, &info.Main) {
		if len(m.Path) > len(best) && len(path) >= len(m.Path) && path[:len(m.Path)] == m.Path {
			best, version = m.Path, m.Version
		}
	}
	if version == "" {
		return "(devel)"
	}
	return version
}
