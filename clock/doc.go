// Package clock is for programs that get their clock from outside, so that a test can give them one
// that it moves by hand. A [Clock] has what packages time and context have: Now, Sleep, timers,
// tickers, functions that run later, and contexts with deadlines. There are three kinds of clocks:
//
//	clock.Real()     the standard packages time and context
//	clock.On(rt)     a runtime of package foliot, on whatever clock that is
//	clock.NewFake()  stands still until the test moves it
//
// A program keeps a Clock where it would have called package time:
//
//	type Cache struct {
//		clock clock.Clock // clock.Real() in the program
//		…
//	}
//
//	fake := clock.NewFake()
//	cache := NewCache(fake)
//	…
//	fake.BlockUntil(1)        // the goroutine of the cache waits
//	fake.Advance(time.Minute) // fires what is due, in order
//
// # Do I need it?
//
// A test in a testing/synctest bubble needs no Clock: there package time itself has a clock that moves
// when all goroutines of the bubble wait. So the program stays as it is. Prefer that where it works.
// Inject a Clock in these cases:
//
//   - Goroutines wait for something outside of the bubble, such as a network connection, a file or
//     another process. Then the clock of the bubble stands still.
//   - The test decides when the clock moves and how far, while goroutines run.
//   - A simulation or a replay sets the time, in a program that is not a test.
//   - The program takes a clock already.
//
// Both work together: a Fake can be made and used in a bubble.
//
// # The Fake
//
// [Fake.Advance] fires what is due in the order of the deadlines, and in the order of arming among
// equal deadlines. In a function of AfterFunc, Now shows its deadline. When Advance returns, the
// functions have returned, also those that were armed on the way. Advance does not wait for the
// goroutines that it wakes by a channel, a context or the end of a Sleep. They see the new time.
// [Fake.BlockUntil] waits until a number of them wait again:
//
//	counts one in BlockUntil and Waiters        until
//
//	a timer of NewTimer, After or AfterFunc     it has fired or is stopped
//	a ticker of NewTicker or Tick               it is stopped
//	a goroutine in Sleep                        the time is over
//	a context with a deadline                   it has ended
//
// Timers and tickers behave as those of package time since Go 1.23: a channel has room for one value,
// and after Stop or Reset no value that was sent before is received.
//
// # Deadlines that other code reads
//
// Deadline of a context on a Fake returns a time of the Fake. Code that takes it for a real time finds
// that it passed long ago, as a Fake begins in the year 2000. For example, a dial of net.Dialer fails
// at once with a timeout. And context.WithTimeout of the standard package takes the deadline of its
// parent for the earlier one, so the child ends with the parent, however short its own timeout is. If
// such code gets a context of the clock, begin at the real time:
//
//	fake := clock.NewFake(time.Now())
//
// The same holds for a runtime on a [foliot.ManualClock].
//
// # Coming from another package
//
//	clockwork                benbjohnson/clock   quartz                k8s.io/utils/clock   here
//
//	NewRealClock()           New()               NewReal()             RealClock{}          Real()
//	NewFakeClock()           NewMock()           NewMock(t)            NewFakeClock(t)      NewFake()
//	NewFakeClockAt(t)        NewMock(), Set(t)   NewMock, Set(t)       NewFakeClock(t)      NewFake(t)
//	Advance(d)               Add(d)              Advance(d).MustWait   Step(d)              Advance(d)
//	-                        Set(t)              Set(t).MustWait       SetTime(t)           Advance(Until(t))
//	-                        -                   AdvanceNext()         -                    AdvanceToNext()
//	BlockUntil(n)            -                   a trap                HasWaiters, polled   BlockUntil(n)
//	BlockUntilContext        -                   Trap.Wait(ctx)        -                    BlockUntilContext
//	-                        -                   -                     Waiters()            Waiters()
//	NewTimer(d).Chan()       Timer(d).C          NewTimer(d).C         NewTimer(d).C()      NewTimer(d).Chan()
//	NewTicker(d).Chan()      Ticker(d).C         NewTicker(d).C        NewTicker(d).C()     NewTicker(d).Chan()
//	WithTimeout(ctx, c, d)   WithTimeout         -                     -                    WithTimeout(ctx, d)
//
// The methods of clockwork have the same names here, so that often only the types and the constructor
// change. One difference matters: there AfterFunc starts a goroutine, and here Advance waits for the
// function. So a function must not wait for the goroutine that calls Advance, for example in a send
// on a channel without room. docs/clock.md in the repository has the other differences.
package clock
