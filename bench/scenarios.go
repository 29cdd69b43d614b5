package bench

// A scenario is something that a user recognises, and how to measure it.
type scenario struct {
	name, title, about string
	fresh              bool // it wants a process in which nothing has been measured, and is run first
	messy              bool // it leaves traces in the process, and is run last
	run                func(*sheet) error
}

// scenarios are all there are, in the order in which they are shown.
var scenarios = []scenario{
	{
		name: "request-timeouts", title: "Request timeouts", run: requestTimeouts,
		about: "A deadline is armed for each request and called off when the answer is there, while many others are outstanding.",
	},
	{
		name: "idle-connections", title: "Idle connections", run: idleConnections,
		about: "Every connection has a timeout that is pushed back on each read and almost never fires.",
	},
	{
		name: "cross-stop", title: "Stop on another goroutine", run: crossStop,
		about: "One goroutine sends requests and arms their deadlines, another receives the answers and stops them.",
	},
	{
		name: "burst-registration", title: "Burst of registrations", run: burstRegistration,
		about: "Many timers are made in one go, as after a restart, and each is stopped later.",
	},
	{
		name: "growth", title: "Growth", run: growth,
		about: "The same operations with more and more timers outstanding.",
	},
	{
		name: "sparse", title: "Sparse precise timers", run: sparseTimers,
		about: "A single timer in a process that has nothing else to do: how late it is, and what it costs to be woken.",
	},
	{
		name: "sub-millisecond", title: "Timers below a millisecond", run: subMillisecond,
		about: "Pacing, retransmission and polling with delays of 20 to 900 µs.",
	},
	{
		name: "accuracy", title: "A thousand timers in a tenth of a second", run: accuracy,
		about: "What an ordinary program has: how late timers are when some others are on the way.",
	},
	{
		name: "saturated", title: "All processors busy", run: saturated,
		about: "A single timer while every processor has a goroutine that does not let go of it.",
	},
	{
		name: "memory", title: "Memory of a timer", run: memory, fresh: true,
		about: "What the heap has more of for each armed timer, in a process that has not had as many before.",
	},
	{
		name: "gc", title: "Garbage collection with timers armed", run: collections,
		about: "What each garbage collection has to do more because there are timers.",
	},
	{
		name: "idle", title: "Nothing due", run: idleProcess,
		about: "A process with timers that are all an hour ahead: what it does meanwhile.",
	},
	{
		name: "drop-in", title: "Drop-in packages time and context", run: dropIn,
		about: "The operations of packages time and context, through Foliot's packages of the same names.",
	},
	{
		name: "go-benchmarks", title: "Go's own benchmarks", run: goBenchmarks,
		about: "What the benchmarks of Go's package time do, by that package and by the one to drop in.",
	},
	{
		name: "task-wakes", title: "Tasks: wake and poll", run: taskWakes,
		about: "The way from a wake to the poll of a task, beside that of a goroutine from a channel.",
	},
	{
		name: "task-spawns", title: "Tasks: spawn and done", run: taskSpawns,
		about: "A task from its beginning to its end, beside a goroutine, with at most a thousand in flight.",
	},
	{
		name: "delay-queue", title: "Delay queue", run: delayQueue,
		about: "Values that come out of a queue when they are due, beside a timer for each.",
	},
	{
		name: "micro-delays", title: "Event loop: micro-delays", run: microDelays,
		about: "Many timers of 0 to 9 ms on an event loop, from the first that is made to the last that has fired.",
	},
	{
		name: "loop-delays", title: "Event loop: longer delays", run: loopDelays,
		about: "Timers spread over a while on an event loop: how much later than ideal the last one is.",
	},
	{
		name: "loop-registration", title: "Event loop: registration", run: loopRegistration,
		about: "50,000 timers made in a row on an event loop.",
	},
	{
		name: "loop-soon", title: "Event loop: call soon", run: loopSoon,
		about: "Functions that are to be called in the next iteration, beside a buffered channel of functions.",
	},
	{
		name: "loop-post", title: "Event loop: post", run: loopPost,
		about: "Functions that other goroutines or threads hand to the loop, beside a buffered channel of functions.",
	},
	{
		name: "wheel-ops", title: "Wheel: arm, cancel, re-arm", run: wheelOps,
		about: "The structure by itself, owned by one goroutine: deadlines within an hour, ticks of a millisecond.",
	},
	{
		name: "wheel-churn", title: "Wheel: re-arm for long", run: wheelChurn,
		about: "The structure after so many moves at random that it is as untidy as it gets.",
	},
	{
		name: "wheel-fire", title: "Wheel: fire", run: wheelFire,
		about: "What it takes to get all entries out in order, the moving from level to level included.",
	},
	{
		name: "wheel-memory", title: "Wheel: memory", run: wheelMemory,
		about: "Bytes of an entry with a payload of four, and work for the garbage collector.",
	},
	{
		name: "bulk-expiry", title: "Bulk expiry", run: bulkExpiry, messy: true,
		about: "Very many timers fire within a short while, a million of them in a second.",
	},
	{
		name: "tickers", title: "Tickers", run: tickers, messy: true,
		about: "Many tickers at 10 Hz, with somebody waiting for each tick.",
	},
	{
		name: "periodic-tasks", title: "Periodic tasks", run: periodicTasks, messy: true,
		about: "Sessions that have something to do once a second, as tasks and as goroutines that sleep.",
	},
}

// A Listed scenario is one that can be asked for.
type Listed struct{ Name, Title, About string }

// List returns all scenarios there are.
func List() []Listed {
	all := make([]Listed, len(scenarios))
	for i, s := range scenarios {
		all[i] = Listed{s.name, s.title, s.about}
	}
	return all
}
