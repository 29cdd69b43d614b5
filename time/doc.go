// Package time is a drop-in replacement for the standard package time. Its timers run on
// Foliot. To use it, change the import path; the rest of the program stays as it is.
//
//	import "github.com/foliot-go/foliot/time"
//
//	timeout := time.NewTimer(2 * time.Second)
//	defer timeout.Stop()
//	select {
//	case reply := <-replies:
//		use(reply)
//	case <-timeout.C:
//		giveUp()
//	}
//
// # What is replaced
//
// [Timer], [Ticker], [NewTimer], [NewTicker], [AfterFunc], [After], [Tick] and [Sleep] run
// on [foliot.Default]. Everything else comes from the standard package. [Duration], [Time] and
// the other types are the same types, so their values can be passed between code that imports
// this package and code that imports the standard one. *Timer and *Ticker are different types.
// The compiler reports where they are mixed.
//
// # What holds
//
// The rules are those of the standard package since Go 1.23:
//
//   - After Stop or Reset has returned, no value that was sent before is received. There is no
//     need to drain the channel.
//   - Stop and Reset of a timer with a channel return true as long as its value was not
//     received, even if the timer has expired.
//   - A Timer or Ticker with a channel is garbage collected when it and its channel are
//     unreachable, stopped or not. A program that keeps only the channel still receives from
//     it. One of the next garbage collections also frees what the runtime keeps for the timer.
//   - AfterFunc runs its function on a new goroutine. The function may block or end its
//     goroutine, and other timers are not delayed. After a Reset the function may run again
//     while an earlier call still runs.
//   - The ticks of a Ticker are on a grid: if one tick is late, the next one is not late because
//     of that. A Ticker drops ticks if its reader is slow.
//   - Nothing fires early. A duration of 0 or less is over at once. A duration that is too long
//     to be represented ends after centuries.
//   - Invalid calls panic with the same texts.
//
// A timer that is only armed needs no goroutine, even shortly before its deadline. So a test
// that looks for leaked goroutines finds none.
//
// # How exact it is
//
// The default runtime waits by timers of the standard package. So it is as exact as those, to
// within a microsecond. A Ticker with a period of up to 250 microseconds and a Sleep of that
// length are those of the standard package: nothing else ticks as often. A program that needs more can make the default runtime
// precise, at the start of main:
//
//	func main() {
//		if err := foliot.SetDefault(foliot.Options{Precise: true}); err != nil {
//			log.Fatal(err)
//		}
//
// Then a goroutine waits while a deadline is near. See [foliot.SetDefault].
//
// # What it costs
//
// A timer with a function takes one allocation. A timer with a channel takes three, two of them
// for the channel. Reset, Stop and Sleep allocate nothing.
//
// A Ticker whose channel is not read still costs something, but less and less: it skips ticks
// that would be dropped anyway. When the program starts to read again, one tick is waiting. The
// next tick is on the grid, but it may be late: by up to an eighth of the time in which the
// channel was not read, and by at most 100 ms. After that no tick is skipped.
//
// # In a synctest bubble
//
// A timer that is made in a testing/synctest bubble is a timer of the standard package, and
// uses the time of the bubble. A timer that was made outside of the bubble can be stopped
// inside, and its channel can be received from. Its Reset panics there, because the timer does
// not use the time of the bubble.
//
// # What is different
//
// The channels have room for one value, and their len and cap show that. In the standard
// package both are always 0. [Local] and [UTC] are copies of the variables of the standard
// package, and assigning to them has no effect. The file docs/compat.md of this module has the
// whole list of differences, and names the tests that have found them. Go's own tests of
// package time are among them.
//
// # Files
//
// timer.go has Timer and AfterFunc, ticker.go has Ticker, sleep.go has Sleep; the timers
// themselves are in internal/engine (gofunc.go, chan.go). zaliases.go is generated and has
// everything else, as aliases of the standard package.
package time
