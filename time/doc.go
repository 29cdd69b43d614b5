// Package time is a drop-in replacement for the standard package time in which AfterFunc runs on
// Foliot. To use it, change the import path; the rest of the program stays as it is.
//
//	import "github.com/foliot-go/foliot/time"
//
//	idle := time.AfterFunc(30*time.Second, func() { conn.Close() })
//	for {
//		message, err := read(conn)
//		...
//		idle.Reset(30 * time.Second)
//	}
//
// # What is replaced
//
// [AfterFunc] runs on [foliot.Default]. [Timer] is a type of its own, because AfterFunc returns
// one; a Timer from [NewTimer] wraps a standard timer. Everything else is the standard package's:
// [Ticker], [NewTicker], [After], [Tick] and [Sleep] gained nothing from Foliot. [Duration], [Time],
// Ticker and the other types are the same types, so their values can be passed between code that
// imports this package and code that imports the standard one. *Timer is a different type, and the
// compiler reports where the two are mixed.
//
// # What holds
//
// The rules are those of the standard package since Go 1.23:
//
//   - AfterFunc runs its function on a new goroutine. The function may block or end its goroutine
//     without delaying other timers. After a Reset the function may run again while an earlier call
//     is still running.
//   - Once Stop or Reset of a Timer with a channel returns, no value sent earlier is received.
//     There is no need to drain the channel.
//   - A Timer that is not armed, or has a channel, is garbage collected when it is unreachable.
//   - Nothing fires early. A duration of 0 or less is over immediately. A duration that is too long
//     to be represented ends after centuries.
//   - Invalid calls panic with the same messages.
//
// A timer that is merely armed needs no goroutine, even shortly before its deadline, so a test that
// looks for leaked goroutines finds none.
//
// # How precise it is
//
// The default runtime waits with standard timers, so AfterFunc is as precise as the standard one,
// to within a microsecond. A program that needs more can make the default runtime precise, at the
// start of main:
//
//	func main() {
//		if err := foliot.SetDefault(foliot.Options{Precise: true}); err != nil {
//			log.Fatal(err)
//		}
//
// A goroutine then waits while a deadline is near. See [foliot.SetDefault]. Timers with a channel,
// Tickers and Sleep do not become more precise, because they are the standard package's.
//
// # What it costs
//
// AfterFunc takes one allocation, and NewTimer one more than the standard one. Reset and Stop
// allocate nothing. Reset of a Timer with a channel reads the clock once more than the standard one.
//
// # In a synctest bubble
//
// A timer created in a testing/synctest bubble is a standard timer and uses the bubble's time. An
// AfterFunc Timer created outside the bubble can be stopped inside, but its Reset panics there,
// because it does not use the bubble's time.
//
// # What is different
//
// [Local] and [UTC] are copies of the standard package's variables, and assigning to them has no
// effect. This module's docs/compat.md lists all differences, and names the tests that found them.
// Go's own tests of package time are among them.
//
// # Files
//
// timer.go contains Timer and AfterFunc; the timers themselves are in internal/engine/gofunc.go.
// zaliases.go is generated and contains everything else, as aliases of the standard package.
package time
