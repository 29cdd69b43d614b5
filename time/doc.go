// Package time is the standard package of that name with timers of Foliot: change the
// import path and keep the program.
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
// # What is its own
//
// [Timer], [Ticker], [NewTimer], [NewTicker], [AfterFunc], [After], [Tick] and [Sleep] run
// on [foliot.Default]. Everything else is the standard package's: its types are the same
// types, so a [Duration] or a [Time] goes freely between code that imports the one and code
// that imports the other. Only a *Timer and a *Ticker do not, and the compiler says where.
//
// # What holds
//
// The rules are those of the standard package since Go 1.23:
//
//   - After Stop or Reset has returned, no value that was sent before is received. Nobody
//     has to drain a channel.
//   - Stop and Reset of a timer with a channel answer true as long as its value was not
//     received.
//   - A Timer or Ticker that nobody refers to is collected, stopped or not, and so is one
//     of which nobody has kept the channel. Who has kept the channel alone goes on
//     receiving. What is collected stops to cost anything with one of the next garbage
//     collections.
//   - A function given to AfterFunc has a goroutine of its own. It may block, or end its
//     goroutine, and no other timer waits for it. A function may run again while it still runs.
//   - A Ticker keeps to its grid: one tick that is late does not make the next one late. It
//     drops ticks if its reader is slow.
//   - Nothing is early. No time at all, or less, is over at once; more than can be counted
//     is centuries.
//   - What is wrong panics, with the same words.
//
// There is no goroutine for a timer that is merely armed, however near its deadline: a
// test that looks for leaked goroutines finds none.
//
// # How exact it is
//
// The default runtime leaves the waiting to the standard package's timers, so it is as exact
// as these, to within a tick of 16 microseconds. A program that needs more gives it a
// timekeeper of its own, first thing in main:
//
//	func main() {
//		if err := foliot.SetDefault(foliot.Options{Precise: true}); err != nil {
//			log.Fatal(err)
//		}
//
// With it, a goroutine waits while a deadline is near. See [foliot.SetDefault].
//
// # What it costs
//
// A timer with a function is one allocation, a timer with a channel three, two of them the
// channel; Reset, Stop and Sleep are none.
//
// A Ticker costs something also while nobody reads its channel, but less and less: it then
// leaves ticks out that would be dropped anyway. Who comes back to a ticker after some time
// finds one tick waiting, and the next on the grid, but up to an eighth of that time, at most
// a tenth of a second, later than he might. From then on all of them come.
//
// # In a synctest bubble
//
// A timer that is made in a testing/synctest bubble is a timer of the standard package, and
// has the bubble's time. One that was made outside can be stopped inside, and its channel
// received from, but Reset panics there: time in the bubble is not the time that it runs on.
//
// # What is different
//
// The channels have room for one value, and len and cap of them tell; in the standard
// package both are always 0. [Local] and [UTC] are copies of the standard package's variables,
// and assigning to them has no effect. docs/compat.md of this module has the whole list,
// and what was run to find it: Go's own tests of the package are among that.
package time
