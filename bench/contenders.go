package bench

import (
	"runtime"
	"runtime/debug"
	"slices"
)

// A contender is a Contender and how to make its timers.
type contender struct {
	Contender
	timers          func() (timers, error) // nil: it has none, and takes part in scenarios of its own only
	maxTimers       int                    // it cannot hold more timers in a reasonable time; 0: no limit
	maxTimersReason string                 // the reason for maxTimers
	coarseTick      bool                   // its tick is a millisecond or more, so single timers show nothing new
	hasRaces        bool                   // it has data races of its own, so tests with the race detector skip it
	version         func() string          // asks a program for its version; nil: the version is that of a module
}

// contenders lists all contenders, in the order in which reports show them.
var contenders = append([]contender{
	{Contender: Contender{Name: "std", Title: "standard library", Kind: Standard}, timers: stdTimers},
	{Contender: Contender{Name: "goroutines", Title: "goroutines", Kind: Standard}},
	{Contender: Contender{Name: "channel", Title: "buffered channel", Kind: Standard}},
	{Contender: Contender{Name: "foliot", Title: "Foliot", Module: foliotModule, Kind: Ours}, timers: foliotTimers},
	{Contender: Contender{Name: "precise", Title: "Foliot, Precise", Module: foliotModule, Kind: Ours, Price: priceCPU}, timers: preciseTimers},
	{Contender: Contender{Name: "slack-1ms", Title: "Foliot, Slack: 1ms", Module: foliotModule, Kind: Ours, Price: priceLateness}},
	{Contender: Contender{Name: "slack-10ms", Title: "Foliot, Slack: 10ms", Module: foliotModule, Kind: Ours, Price: priceLateness}},
	{Contender: Contender{Name: "one-worker", Title: "Foliot, Workers: 1", Module: foliotModule, Kind: Ours}, timers: oneWorkerTimers},
	{Contender: Contender{Name: "drop-in", Title: "Foliot's package time", Module: foliotModule + "/time", Kind: Ours}, timers: dropInTimers},
	{Contender: Contender{Name: "context", Title: "Foliot's package context", Module: foliotModule + "/context", Kind: Ours}},
	{Contender: Contender{Name: "tasks", Title: "Foliot's tasks", Module: foliotModule, Kind: Ours}},
	{Contender: Contender{Name: "tasks-slack", Title: "Foliot's tasks, Slack: 10ms", Module: foliotModule, Kind: Ours, Price: priceLateness}},
	{Contender: Contender{Name: "queue", Title: "Foliot's queue", Module: foliotModule, Kind: Ours}},
	{Contender: Contender{Name: "ttl", Title: "Foliot's example ttl", Module: foliotModule, Kind: Ours}},
	{Contender: Contender{Name: "wheel", Title: "Foliot's wheel", Module: foliotModule + "/wheel", Kind: Ours}},
	{Contender: Contender{Name: "loop", Title: "Foliot's loop", Module: foliotModule + "/loop", Kind: Ours}},
	{Contender: Contender{Name: "durable", Title: "Foliot's durable/local", Module: foliotModule + "/durable/local", Kind: Ours}},
	{Contender: Contender{Name: "durable-nosync", Title: "Foliot's durable/local, NoSync", Module: foliotModule + "/durable/local", Kind: Ours}},
	{Contender: Contender{Name: "cluster", Title: "Foliot's durable/jetstream", Module: foliotModule + "/durable/jetstream", Kind: Ours}},
	{Contender: Contender{Name: "serve", Title: "foliot serve", Module: foliotModule + "/cmd", Kind: Ours}},
	{Contender: Contender{Name: "parts", Title: "the parts by themselves", Kind: Peer}},
	{Contender: Contender{Name: "lists", Title: "a wheel of linked lists", Kind: Peer}},
	{Contender: Contender{Name: "heap", Title: "container/heap and a mutex", Kind: Peer}, timers: heapTimers},
}, append(peers, scripts...)...)

const foliotModule = "github.com/foliot-go/foliot"

// findContender returns the contender of that name.
func findContender(name string) (contender, bool) {
	if i := contenderRank(name); i < len(contenders) {
		return contenders[i], true
	}
	return contender{}, false
}

// notVariant returns false for the contenders that are Foliot with other options, which many scenarios leave out.
func notVariant(c contender) bool { return c.Name != "precise" && c.Name != "one-worker" }

// contenderRank returns the index of a contender in the list, or the length of the list if there is none of that
// name.
func contenderRank(name string) int {
	if i := slices.IndexFunc(contenders, func(c contender) bool { return c.Name == name }); i >= 0 {
		return i
	}
	return len(contenders)
}

// Contenders returns all contenders.
func Contenders() []Contender {
	all := make([]Contender, len(contenders))
	for i, c := range contenders {
		all[i] = c.Contender
	}
	return all
}

// describe returns the contender with its version.
func (c contender) describe() Contender {
	d := c.Contender
	switch {
	case c.version != nil:
		d.Version = c.version()
	case c.Kind == Standard || c.Module == "":
		d.Version = runtime.Version()
	default:
		d.Version = moduleVersion(c.Module)
	}
	return d
}

// moduleVersion returns the version of the module that contains a package, as linked into this program.
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
