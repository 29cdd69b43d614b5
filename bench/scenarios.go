package bench

// A scenario is a use of timers that a user recognises, and the function that measures it.
type scenario struct {
	name, title, about string
	needsFreshProcess  bool // it needs a process in which nothing was measured before, and runs first
	leavesTraces       bool // it leaves goroutines or memory behind, and runs last
	needsServers       bool // it starts servers in other processes, so it is left out of a quick run unless it is named
	run                func(*scenarioRun) error
}

// scenarios lists all scenarios, in the order in which reports show them.
var scenarios = []scenario{
	{
		name: "request-timeouts", title: "Request timeouts", run: requestTimeouts,
		about: "A deadline is armed for each request and stopped when the answer arrives, while many others are outstanding.",
	},
	{
		name: "parts", title: "Arm and stop, and its parts", run: armAndStopParts,
		about: "AfterFunc and Stop, against the sum of the parts that Foliot cannot do without: a reading of the clock, two locks and a wheel.",
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
		about: "A single timer in a process that has nothing else to do: how late it is, and what a wake-up costs.",
	},
	{
		name: "sub-millisecond", title: "Timers below a millisecond", run: subMillisecond,
		about: "Pacing, retransmission and polling with delays of 20 to 900 µs.",
	},
	{
		name: "accuracy", title: "A thousand timers in a tenth of a second", run: accuracy,
		about: "The load of an ordinary program: how late timers are while some others are armed.",
	},
	{
		name: "density", title: "Timers at a steady rate", run: density,
		about: "Periodic timers, each armed again by its callback, and as many goroutines that sleep: what they cost and how late they are.",
	},
	{
		name: "saturated", title: "All processors busy", run: saturated,
		about: "A single timer while every processor runs a goroutine that never blocks.",
	},
	{
		name: "memory", title: "Memory of a timer", run: memory, needsFreshProcess: true,
		about: "How much the heap grows for each armed timer, in a process that has not had as many before.",
	},
	{
		name: "gc", title: "Garbage collection with timers armed", run: collections,
		about: "How much longer a garbage collection takes because timers are armed.",
	},
	{
		name: "idle", title: "Nothing due", run: idleProcess,
		about: "A process whose timers are all an hour ahead: the processor time it takes meanwhile.",
	},
	{
		name: "drop-in", title: "Drop-in packages time and context", run: dropIn,
		about: "The operations of packages time and context, through Foliot's packages of the same names.",
	},
	{
		name: "contexts", title: "Trees and chains of contexts", run: contexts,
		about: "Contexts with a deadline that are waited for, below other contexts, in a tree and at the end of a chain.",
	},
	{
		name: "short-ticks", title: "Ticks and sleeps of microseconds", run: shortTicks,
		about: "How many ticks of a ticker, or sleeps in a row, a goroutine gets in a second if each is 1 to 200 µs.",
	},
	{
		name: "go-benchmarks", title: "Go's own benchmarks", run: goBenchmarks,
		about: "The benchmarks of Go's package time, run with that package and with Foliot's drop-in.",
	},
	{
		name: "task-wakes", title: "Tasks: wake and poll", run: taskWakes,
		about: "The time from a wake to the poll of a task, against that of a goroutine woken through a channel.",
	},
	{
		name: "task-spawns", title: "Tasks: spawn and done", run: taskSpawns,
		about: "The life of a task that ends at once, against that of a goroutine, with at most a thousand in flight.",
	},
	{
		name: "delay-queue", title: "Delay queue", run: delayQueue,
		about: "Values that come out of a queue when they are due, against a timer for each.",
	},
	{
		name: "ttl-cache", title: "Cache with expiry", run: ttlCache,
		about: "A map of numbers whose entries expire, all after the same time: the example ttl against packages for caches.",
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
		about: "Functions that are to be called in the next iteration, against a buffered channel of functions.",
	},
	{
		name: "loop-post", title: "Event loop: post", run: loopPost,
		about: "Functions that other goroutines or threads hand to the loop, against a buffered channel of functions.",
	},
	{
		name: "wheel-ops", title: "Wheel: arm, cancel, re-arm", run: wheelOps,
		about: "The structure by itself, owned by one goroutine: deadlines within an hour, ticks of a millisecond.",
	},
	{
		name: "wheel-churn", title: "Wheel: re-arm for long", run: wheelChurn,
		about: "The structure after so many random moves that it holds as many dead refs as it ever does.",
	},
	{
		name: "wheel-fire", title: "Wheel: fire", run: wheelFire,
		about: "The cost of yielding all entries in order, including the moves from level to level.",
	},
	{
		name: "wheel-memory", title: "Wheel: memory", run: wheelMemory,
		about: "Bytes per entry with a value of four bytes, and work for the garbage collector.",
	},
	{
		name: "durable-schedule", title: "Durable timers: schedule and cancel", run: durableSchedule,
		about: "Timers that survive a crash: each call returns when its change is kept, with 64 callers at a time.",
	},
	{
		name: "durable-late", title: "Durable timers: lateness", run: durableLate,
		about: "Timers that survive a crash and come due at a steady rate: how late their handlers start.",
	},
	{
		name: "durable-open", title: "Durable timers: memory and opening", run: durableOpen,
		about: "Timers that survive a crash, with very many pending: the memory of each, and the time from opening the store until the first one fires.",
	},
	{
		name: "cluster-schedule", title: "Durable timers on three servers: schedule and cancel", run: clusterSchedule, needsServers: true,
		about: "Timers in a stream of NATS JetStream with three replicas, all three servers on this machine: each call returns when the servers have acknowledged its change.",
	},
	{
		name: "cluster-late", title: "Durable timers on three servers: lateness", run: clusterLate, needsServers: true,
		about: "Timers in a stream with three replicas that come due at a steady rate, one process that fires them, and three of ten cancelled within 15 ms of their deadlines.",
	},
	{
		name: "cluster-open", title: "Durable timers on three servers: memory and opening", run: clusterOpen, needsServers: true,
		about: "Very many timers in a stream with three replicas: the memory of each in a process, and the time from opening the store until the first one fires.",
	},
	{
		name: "serve", title: "Timers as a service", run: serveTimers, needsServers: true,
		about: "The server of foliot serve, its clients and the receivers of its webhooks on one machine, by HTTP/1.1 on connections that stay open.",
	},
	{
		name: "bulk-expiry", title: "Bulk expiry", run: bulkExpiry, leavesTraces: true,
		about: "Very many timers fire within a short while, a million of them in a second.",
	},
	{
		name: "tickers", title: "Tickers", run: tickers, leavesTraces: true,
		about: "Many tickers at 10 Hz, with a goroutine waiting for each tick.",
	},
	{
		name: "periodic-tasks", title: "Periodic tasks", run: periodicTasks, leavesTraces: true,
		about: "Sessions that have something to do once a second, as tasks and as goroutines that sleep.",
	},
}

// A Listed is a scenario as List returns it.
type Listed struct{ Name, Title, About string }

// List returns all scenarios.
func List() []Listed {
	all := make([]Listed, len(scenarios))
	for i, s := range scenarios {
		all[i] = Listed{s.name, s.title, s.about}
	}
	return all
}
