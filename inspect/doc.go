// Package inspect serves a page that shows the timers of a program live: the wheel and when
// its timers are due, how many timers are armed, fire and are stopped, how late they are, and which
// functions they call. It shows runtimes ([foliot.Runtime]), queues ([foliot.Queue]) and loops
// ([loop.Loop]). It also serves the same figures as JSON.
//
// # Mounting
//
// A [Handler] is mounted below any prefix, which http.StripPrefix removes. Beside net/http/pprof:
//
//	mux := http.NewServeMux()
//	mux.HandleFunc("/debug/pprof/", pprof.Index)
//	mux.Handle("/debug/foliot/", http.StripPrefix("/debug/foliot", inspect.Handler(inspect.Options{})))
//	go http.ListenAndServe("localhost:6060", mux)
//
// Without [Options] it shows the default runtime, on which the drop-in packages time and context are.
// Others are named:
//
//	inspect.Handler(inspect.Options{
//		Runtimes: map[string]*foliot.Runtime{"sessions": sessions, "jobs": jobs},
//		Queues:   map[string]inspect.Queue{"retries": retries},
//	})
//
// # What it serves
//
//	/                the page, with scripts, styles and fonts from the binary
//	/snapshot.json   one picture of everything
//	/events          a picture each Options.Interval, as server-sent events
//
// [Files] has the files of the page, for a program with a page of its own.
//
// Only GET and HEAD are allowed, and nothing that a request can do changes the program. Times in the
// JSON are in nanoseconds. docs/inspect.md describes each field.
//
// The id of an event counts up. A client that connects again, with the header Last-Event-ID, is counted
// from there. All clients get the same pictures. A client that is slower than the pictures misses some
// of them, and one that accepts nothing for 10 seconds is disconnected.
//
// # Protection
//
// The page shows the names of functions and how busy the program is. That is not for the public. Like
// pprof it has no password. Serve it
//
//   - on a listener that only the machine itself can reach, as "localhost:6060" above, with an ssh
//     tunnel or "kubectl port-forward" from elsewhere, or
//   - behind a handler that checks a password, as in the example of Handler, or behind a proxy that
//     does.
//
// Do not import net/http/pprof for its side effect and then serve http.DefaultServeMux to the public:
// that publishes pprof, and a Handler that is registered there with http.Handle.
//
// # Cost
//
// While no client listens to /events there is no goroutine and no work. Otherwise one goroutine takes a
// picture each interval, whatever the number of clients. A picture reads counters and a bounded sample
// of timers, and locks each shard of a runtime for about as long as arming a timer may take. A program
// that does not import this package does not contain net/http because of Foliot.
//
// http.Server.Shutdown waits for the clients of /events, which stay. To end them, end the contexts of
// their requests: set BaseContext of the server to a context that RegisterOnShutdown cancels.
package inspect
