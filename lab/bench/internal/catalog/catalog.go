// Package catalog lists what the benchmark measures: its scenarios with their benchmarks, and the contenders. Both
// programs use it, the one that measures and the one that puts figures into pages.
package catalog

import (
	"slices"
	"strings"
)

// A Scenario is a use of timers that a user recognises. It has one benchmark or several.
type Scenario struct {
	Name       string
	About      string
	Servers    bool // it starts servers in other processes, so a quick run leaves it out unless it is named
	Benchmarks []Benchmark
}

// A Benchmark is one kind of work. Each contender does it once in a round.
type Benchmark struct {
	Name string // in lower case with dashes, as in marks
	Unit string // the main unit of its lines
	Base string // the contender that the others are compared with; empty: they are not compared
	What string // the work, in words
}

// Scenarios are in the order of measuring. Memory needs a process in which nothing was measured before. The last ones
// leave goroutines or memory behind.
var Scenarios = []Scenario{
	{Name: "memory", About: "What armed timers cost while nothing happens.", Benchmarks: []Benchmark{
		{"timer-memory", "B/timer", "std", "heap of an armed timer, callback included"},
		{"gc", "cpu-ns/gc", "std", "processor time that armed timers add to a garbage collection"},
		{"idle", "cpu-%", "std", "processor time while all timers are an hour ahead"},
	}},
	{Name: "requests", About: "Deadlines that are armed for each request and stopped when the answer arrives, while many others are outstanding.", Benchmarks: []Benchmark{
		{"arm-and-stop", "cpu-ns/op", "std", "arm and stop"},
		{"arm-and-stop-empty", "cpu-ns/op", "std", "arm and stop, with nothing else armed"},
		{"arm-and-stop-parallel", "cpu-ns/op", "std", "arm and stop on several goroutines"},
		{"arm-stop-elsewhere", "cpu-ns/op", "std", "arm on one goroutine, stop on another"},
		{"requests-some-late", "cpu-ns/op", "std", "arm and stop, one in a thousand fires"},
		{"register", "cpu-ns/op", "std", "arm in a row, in batches where there are any"},
		{"register-and-stop", "cpu-ns/op", "std", "arm in a row, then stop each"},
		{"reset-later", "cpu-ns/op", "std", "push the deadline of a random timer back"},
		{"reset-hot", "cpu-ns/op", "std", "push back one of a thousand timers"},
		{"reset-at", "cpu-ns/op", "std", "set a random timer to a known time"},
		{"reset-earlier", "cpu-ns/op", "std", "pull the deadline of a random timer in"},
		{"stop-at-random", "cpu-ns/op", "std", "stop a random timer"},
	}},
	{Name: "one-timer", About: "One timer at a time: how late it is, and what a wake-up costs.", Benchmarks: []Benchmark{
		{"sparse-timer", "p50-late-ns", "std", "one timer of 50 µs to 20 ms"},
		{"sparse-wakeup", "cpu-ns/op", "std", "processor time of such a wake-up"},
		{"short-timer", "p50-late-ns", "std", "one timer of 20 to 900 µs"},
		{"short-wakeup", "cpu-ns/op", "std", "processor time of such a wake-up"},
		{"busy-timer", "p50-late-ns", "std", "one timer while all processors are busy"},
	}},
	{Name: "thousand", About: "A thousand timers within a tenth of a second, as in an ordinary program.", Benchmarks: []Benchmark{
		{"thousand-late", "p50-late-ns", "std", "how late they are"},
		{"thousand-cpu", "cpu-ns/op", "std", "processor time of each"},
	}},
	{Name: "steady", About: "Timers that fire at a steady rate, each armed again by its callback, and as many goroutines that sleep.", Benchmarks: []Benchmark{
		{"steady-cpu", "cpu-%", "std", "processor time"},
		{"steady-late", "p50-late-ns", "std", "how late they are"},
	}},
	{Name: "drop-in", About: "The operations of packages time and context, through Foliot's packages of the same names.", Benchmarks: []Benchmark{
		{"after-func", "cpu-ns/op", "std", "AfterFunc and Stop"},
		{"timer-reset", "cpu-ns/op", "std", "Reset"},
		{"new-timer", "cpu-ns/op", "std", "NewTimer and Stop"},
		{"with-timeout", "cpu-ns/op", "std", "context.WithTimeout and cancel"},
		{"with-timeout-done", "cpu-ns/op", "std", "context.WithTimeout, Done and cancel"},
		{"go-time", "cpu-ns/op", "std", "the benchmarks of Go's package time"},
		{"go-latency", "mean-late-ns", "std", "the benchmarks of Go's package time, latency"},
	}},
	{Name: "contexts", About: "Contexts with a deadline, below other contexts, in a tree and at the end of a chain.", Benchmarks: []Benchmark{
		{"context-below", "cpu-ns/op", "std", "WithTimeout, Done and cancel below"},
		{"context-tree", "cpu-ns/op", "std", "a tree of 21 WithTimeout, cancelled at its root, each"},
		{"context-err", "cpu-ns/op", "std", "Err of the last of a chain"},
		{"context-done", "cpu-ns/op", "std", "Done of the last of a chain"},
		{"context-with-cancel", "cpu-ns/op", "std", "WithCancel below the last of a chain"},
		{"context-chain", "cpu-ns/op", "std", "a chain of WithTimeout, cancelled at its first, each"},
	}},
	{Name: "short-ticks", About: "Ticks of a ticker, and sleeps in a row, of 1 to 200 µs: how many a goroutine gets in a second.", Benchmarks: []Benchmark{
		{"short-ticks", "op/s", "std", "ticks"},
		{"short-sleeps", "op/s", "std", "sleeps"},
	}},
	{Name: "tasks", About: "Tasks against goroutines.", Benchmarks: []Benchmark{
		{"task-wake-self", "cpu-ns/op", "goroutines", "a task wakes itself, against runtime.Gosched"},
		{"task-wake-pair", "cpu-ns/op", "goroutines", "two wake each other, against an unbuffered channel"},
		{"task-wake-many", "cpu-ns/op", "goroutines", "a goroutine wakes 1,024, against a channel to each"},
		{"task-spawn", "cpu-ns/op", "goroutines", "spawn and done, against go and return"},
	}},
	{Name: "delay-queue", About: "Values that come out of a queue when they are due, against a timer for each.", Benchmarks: []Benchmark{
		{"queue-push-remove", "cpu-ns/op", "std", "push and remove, against AfterFunc and Stop"},
		{"queue-memory", "B/value", "std", "heap of a value, against that of a timer"},
	}},
	{Name: "ttl-cache", About: "A map of numbers whose entries expire: the example ttl against a cache.", Benchmarks: []Benchmark{
		{"ttl-get", "cpu-ns/op", "otter", "get"},
		{"ttl-set", "cpu-ns/op", "otter", "set"},
		{"ttl-memory", "B/entry", "otter", "heap of an entry"},
		{"ttl-expired", "B/entry", "otter", "heap left of an entry that has expired"},
	}},
	{Name: "loop", About: "Event loops: package loop, timers and channels of the standard library, Python and Node.", Benchmarks: []Benchmark{
		{"loop-register", "op/s", "std", "register timers"},
		{"loop-micro-delays", "ns", "std", "timers of 0 to 9 ms, until the last has fired"},
		{"loop-delays", "late-ns", "std", "timers of 10 ms to a second: the last is late by"},
		{"loop-soon", "op/s", "channel", "queue functions, then call them"},
		{"loop-chain", "ns/op", "channel", "each function queues the next"},
		{"loop-post", "op/s", "channel", "functions from other goroutines"},
		{"loop-post-batch", "op/s", "channel", "functions from another goroutine, a hundred at a time"},
	}},
	{Name: "wheel", About: "Data structures with one owner, without a lock and without a clock: deadlines within an hour, ticks of a millisecond.", Benchmarks: []Benchmark{
		{"wheel-arm-cancel", "ns/op", "std", "arm and cancel at once"},
		{"wheel-rearm", "ns/op", "std", "re-arm one at random"},
		{"wheel-cancel", "ns/op", "std", "cancel one at random"},
		{"wheel-arm", "ns/op", "std", "arm"},
		{"wheel-churn", "ns/op", "std", "re-arm after very many re-arms"},
		{"wheel-churn-longest", "max-ns", "std", "the longest of these"},
		{"wheel-fire", "ns/op", "lists", "fire, an Advance for every tick of the hour"},
		{"wheel-fire-hour", "ns/op", "thw", "fire, the whole hour in one Advance"},
		{"wheel-drain", "ns/op", "", "drain"},
		{"wheel-pass-longest", "max-ns", "", "the longest pass of 64 after a jump of an hour"},
		{"wheel-arm-longest", "max-ns", "", "the longest single arm while it grows"},
		{"wheel-memory", "B/entry", "std", "heap of an entry with a value of four bytes"},
		{"wheel-gc", "cpu-ns/gc", "std", "processor time that entries add to a garbage collection"},
		{"wheel-memory-churned", "B/entry", "", "heap of an entry after re-arming all eight times"},
		{"wheel-memory-trimmed", "B", "", "heap left with a thousand entries, after Trim"},
	}},
	{Name: "durable", About: "Timers that survive a crash, in a folder, beside bare Pebble, which writes as many bytes and fires nothing: the floor.", Benchmarks: []Benchmark{
		{"durable-schedule", "op/s", "pebble", "scheduled by 64 callers"},
		{"durable-cancel", "op/s", "pebble", "cancelled by 64 callers"},
		{"durable-late", "p50-late-ns", "", "how late handlers start"},
		{"durable-open", "ns", "pebble", "from opening until the first fires"},
		{"durable-memory", "B/timer", "", "heap of a timer, its ID of 16 bytes included"},
	}},
	{Name: "cluster", Servers: true, About: "Timers in a JetStream stream with three replicas, beside bare publishes, which store the same messages and fire nothing: the floor.", Benchmarks: []Benchmark{
		{"cluster-schedule", "op/s", "bare-publish", "scheduled by 64 callers"},
		{"cluster-batch", "op/s", "bare-publish", "scheduled in batches of 100 by 8 callers"},
		{"cluster-cancel", "op/s", "bare-publish", "cancelled by 64 callers"},
		{"cluster-late", "p50-late-ns", "bare-publish", "how late they are, three of ten cancelled around their deadlines"},
		{"cluster-open", "ns", "bare-publish", "from opening until the first fires"},
		{"cluster-memory", "B/timer", "", "heap of a timer, its ID of 16 bytes included"},
	}},
	{Name: "serve", Servers: true, About: "foliot serve, its clients and the receivers of its webhooks on one machine, beside bare net/http, which keeps nothing: the floor.", Benchmarks: []Benchmark{
		{"serve-put", "op/s", "bare-http", "PUT requests of 64 clients"},
		{"serve-put-cpu", "cpu-ns/op", "bare-http", "processor time of the server for a PUT"},
		{"serve-webhook", "op/s", "bare-http", "webhooks delivered"},
		{"serve-webhook-cpu", "cpu-ns/op", "bare-http", "processor time of the server for a webhook"},
		{"serve-late", "p50-late-ns", "bare-http", "how late webhooks arrive"},
		{"serve-late-hung", "p50-late-ns", "bare-http", "the same while a tenth of the receivers hang"},
		{"serve-memory", "B", "", "memory of the server's process"},
		{"serve-sync", "ns", "", "a write of 4 KiB and a sync in its folder"},
	}},
	{Name: "bulk-expiry", About: "Very many timers fire within a short while, one a microsecond.", Benchmarks: []Benchmark{
		{"bulk-expiry", "cpu-ns/op", "std", "processor time of each"},
		{"bulk-late", "p50-late-ns", "std", "how late they are"},
	}},
	{Name: "sharing", About: "Timers that compete for a worker: all armed by one goroutine, or beside tasks that are always ready.", Benchmarks: []Benchmark{
		{"accept-loop", "ns/op", "std", "callbacks of 20 µs, all armed by one goroutine and due at once: time until the last has run, each"},
		{"accept-late", "p50-late-ns", "std", "how late they are"},
		{"beside-tasks", "p50-late-ns", "std", "2,000 timers beside 400 tasks or goroutines that compute for 10 µs at a time, how late they are"},
	}},
	{Name: "periodic", About: "Sessions that each have something to do periodically: tasks, tickers and goroutines that sleep.", Benchmarks: []Benchmark{
		{"periodic-tasks", "cpu-%", "goroutines", "processor time, once a second each"},
		{"periodic-memory", "B/session", "goroutines", "memory of each, without the user's struct"},
		{"tickers", "cpu-%", "std", "processor time, ten times a second each"},
		{"ticker-memory", "B/ticker", "std", "memory of each"},
	}},
}

// A Contender takes part in some of the benchmarks.
type Contender struct{ Name, About string }

// Contenders are in the order in which tables show them.
var Contenders = []Contender{
	{"std", "the standard library"},
	{"goroutines", "goroutines that sleep or wait"},
	{"channel", "a buffered channel of functions"},
	{"foliot", "package foliot"},
	{"precise", "package foliot with Options.Precise"},
	{"slack-1ms", "package foliot with a Slack of a millisecond"},
	{"slack-10ms", "package foliot with a Slack of ten milliseconds"},
	{"drop-in", "Foliot's package time"},
	{"context", "Foliot's package context"},
	{"tasks", "tasks of package foliot"},
	{"tasks-slack", "tasks of package foliot with a Slack of ten milliseconds"},
	{"queue", "foliot.Queue"},
	{"ttl", "the example ttl, a map with foliot.Expirer"},
	{"loop", "package loop"},
	{"wheel", "package wheel"},
	{"durable", "durable timers in a folder"},
	{"durable-nosync", "durable timers in a folder that survive kill -9 and not a power cut"},
	{"cluster", "durable timers on NATS servers"},
	{"serve", "foliot serve"},
	{"heap", "container/heap, a mutex and a goroutine"},
	{"lists", "a timing wheel of linked lists"},
	{"thw", "nats-server's server/thw, a hash wheel"},
	{"otter", "github.com/maypok86/otter, a cache"},
	{"pebble", "bare github.com/cockroachdb/pebble"},
	{"bare-publish", "bare publishes to NATS servers"},
	{"nats-schedule", "the message schedules of NATS servers"},
	{"bare-http", "bare net/http"},
	{"asyncio", "Python's asyncio, if it is installed"},
	{"uvloop", "Python's uvloop, if it is installed"},
	{"node", "Node.js, if it is installed"},
}

// Find returns the benchmark of that name.
func Find(name string) (Benchmark, bool) {
	for _, s := range Scenarios {
		for _, b := range s.Benchmarks {
			if b.Name == name {
				return b, true
			}
		}
	}
	return Benchmark{}, false
}

// Rank returns the place of a contender in Contenders, or -1.
func Rank(contender string) int {
	return slices.IndexFunc(Contenders, func(c Contender) bool { return c.Name == contender })
}

// HigherIsBetter reports whether more of a unit is better.
func HigherIsBetter(unit string) bool { return unit == "op/s" || IsRatio(unit) }

// Ratio returns the unit of the ratio to a base: x-std is how many times better than the standard library.
func Ratio(base string) string { return "x-" + base }

// IsRatio reports whether a unit is that of a ratio.
func IsRatio(unit string) bool { return strings.HasPrefix(unit, "x-") }

// Bases returns all bases, each once.
func Bases() (all []string) {
	for _, s := range Scenarios {
		for _, b := range s.Benchmarks {
			if b.Base != "" && !slices.Contains(all, b.Base) {
				all = append(all, b.Base)
			}
		}
	}
	return all
}

// CamelCase returns the name of a benchmark as it is in a file: ArmAndStop for arm-and-stop.
func CamelCase(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// FromCamelCase returns the benchmark whose name in a file is given.
func FromCamelCase(name string) (Benchmark, bool) {
	for _, s := range Scenarios {
		for _, b := range s.Benchmarks {
			if CamelCase(b.Name) == name {
				return b, true
			}
		}
	}
	return Benchmark{}, false
}
