// Package clock provides an injectable clock, so that a test can give a program one that it moves
// by hand. A [Clock] offers what packages time and context do: Now, Sleep, timers, tickers,
// functions that run later, and contexts with deadlines. There are three kinds of clocks:
//
//	clock.Real()     the standard packages time and context
//	clock.On(rt)     a runtime of package foliot, on whatever clock that is
//	clock.NewFake()  stands still until the test moves it
//
// A program keeps a Clock and uses it where it would have called package time:
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
// A test in a testing/synctest bubble needs no Clock: there, package time itself has a clock that
// moves when all goroutines of the bubble are blocked, and the program stays as it is. Prefer that
// where it works. Inject a Clock in these cases:
//
//   - Goroutines wait for something outside the bubble, such as a network connection, a file or
//     another process. The bubble's clock stands still as long as they do.
//   - The test decides when the clock moves and how far, while goroutines run.
//   - A simulation or a replay sets the time, in a program that is not a test.
//   - The program already takes a clock.
//
// The two work together: a Fake can be created and used in a bubble, where synctest.Wait replaces
// BlockUntil.
//
// # The Fake
//
// [Fake.Advance] fires whatever is due in deadline order, and in arming order among equal
// deadlines. In an AfterFunc function, Now returns the function's deadline. When Advance returns,
// these functions have returned, including those that were armed on the way. Advance does not wait
// for the goroutines that it wakes through a channel, a context or the end of a Sleep, which see
// the new time. [Fake.BlockUntil] blocks until a given number of them are waiting again:
//
//	counts one in BlockUntil and Waiters        until
//
//	a timer from NewTimer, After or AfterFunc   it fires or is stopped
//	a ticker from NewTicker or Tick             it is stopped
//	a goroutine in Sleep or SleepContext        the time is over
//	a context with a deadline                   it ends
//
// Timers and tickers behave like those of package time since Go 1.23: a channel has room for one
// value, and after Stop or Reset returns, no value sent earlier is received.
//
// # Deadlines that other code reads
//
// The Deadline of a context on a Fake is a time on that Fake. To code that takes it for a real time
// it is long past, because a Fake starts in the year 2000. A net.Dialer, for example, fails
// immediately with a timeout. And the standard context.WithTimeout takes its parent's deadline for
// the earlier one, so the child ends with the parent, however short its own timeout is. If such
// code receives one of the clock's contexts, start at the real time:
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
//	-                        -                   Peek()                -                    Next()
//	NewTimer(d).Chan()       Timer(d).C          NewTimer(d).C         NewTimer(d).C()      NewTimer(d).Chan()
//	NewTicker(d).Chan()      Ticker(d).C         NewTicker(d).C        NewTicker(d).C()     NewTicker(d).Chan()
//	WithTimeout(ctx, c, d)   WithTimeout         -                     -                    WithTimeout(ctx, d)
//
// The methods of clockwork have the same names here, so that often only the types and the
// constructor change. One difference matters: clockwork's AfterFunc starts a goroutine, whereas
// Advance here waits for the function. The function must therefore not wait for the goroutine that
// calls Advance, for example by sending on a channel without room. docs/clock.md in the repository
// has the other differences.
package clock
