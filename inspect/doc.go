// Package inspect serves a page that shows a program's timers live: the wheel and when its timers
// are due, how many are armed, fired and stopped, how late they are, and which functions they call.
// It shows runtimes ([foliot.Runtime]), queues ([foliot.Queue]) and loops ([loop.Loop]), and serves
// the same figures as JSON.
//
// # Mounting
//
// A [Handler] can be mounted below any prefix, which http.StripPrefix removes, for example beside
// net/http/pprof:
//
//	mux := http.NewServeMux()
//	mux.HandleFunc("/debug/pprof/", pprof.Index)
//	mux.Handle("/debug/foliot/", http.StripPrefix("/debug/foliot", inspect.Handler(inspect.Options{})))
//	go http.ListenAndServe("localhost:6060", mux)
//
// With the zero [Options] it shows the default runtime, which the drop-in packages time and context
// use. Others are given by name:
//
//	inspect.Handler(inspect.Options{
//		Runtimes: map[string]*foliot.Runtime{"sessions": sessions, "jobs": jobs},
//		Queues:   map[string]inspect.Queue{"retries": retries},
//	})
//
// # What it serves
//
//	/                the page, with scripts, styles and fonts from the binary
//	/snapshot.json   a snapshot of everything
//	/events          a snapshot each Options.Interval, as server-sent events
//
// [Files] returns the page's files, for a program with a page of its own.
//
// Only GET and HEAD are allowed, and no request can change the program. Times in the JSON are in
// nanoseconds. docs/inspect.md describes each field.
//
// Each client's events have consecutive ids, which continue after a reconnect with the
// Last-Event-ID header. All clients get the same snapshots. A client that cannot keep up misses
// some of them, and one that accepts nothing for 10 seconds is disconnected.
//
// # Protection
//
// The page shows function names and how busy the program is, which is not for the public. Like
// pprof, it has no password. Serve it
//
//   - on a listener that only the machine itself can reach, such as "localhost:6060" above, through
//     an ssh tunnel or "kubectl port-forward" from elsewhere, or
//   - behind a handler that checks a password, as in the Handler example, or behind a proxy that
//     does.
//
// Do not import net/http/pprof for its side effect and then serve http.DefaultServeMux to the
// public, which would publish pprof and any Handler registered there with http.Handle.
//
// # Cost
//
// While no client listens to /events there is no goroutine and no work. Otherwise one goroutine
// takes a snapshot each interval, however many clients there are. A snapshot reads counters and a
// bounded sample of timers, and locks each of a runtime's shards for about as long as arming a
// timer may take. Foliot makes a program depend on net/http only if it imports this package.
//
// http.Server.Shutdown waits for the clients of /events, which do not leave by themselves. To
// disconnect them, end their requests' contexts: set the server's BaseContext to a context that
// RegisterOnShutdown cancels.
package inspect
