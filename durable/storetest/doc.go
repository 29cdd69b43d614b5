// Package storetest tests stores of durable timers, and has a store in memory for tests.
//
// # A store in memory
//
// [NewMemory] returns a store for the tests of a program that uses durable timers. It needs no folder,
// and it can crash: what no call has acknowledged is lost then, as in a power cut. With a
// [github.com/foliot-go/foliot.ManualClock] a test does not wait for time to pass.
//
// # The suite
//
// [Run] tests that a [durable.Store] keeps the promises of durable timers. A store that passes can be
// given to [durable.New]. It is for those who write a store:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Config{
//			Open: func(t *testing.T) storetest.Store {
//				return mystore.Open(t.TempDir())
//			},
//			Reopen: func(t *testing.T, old storetest.Store) storetest.Store {
//				return mystore.Open(old.(*mystore.Store).Dir())
//			},
//			OneNode: true,
//		})
//	}
//
// The suite uses the store through a [durable.Scheduler] only. Each of its subtests opens a store, so
// Open should be quick. Most of them run on a manual clock. Some look at deadlines in real time, and
// none asserts how quick a store is. Config.Crash and Config.Fail add tests of what is kept in a crash,
// and of a store that cannot write any more.
//
// A store that breaks a promise often makes a subtest wait in vain, for Config.Patience. Make it a few
// seconds while you write a store. A store that only adds something to another one embeds a
// [durable.Store] and has its own methods for the rest; it passes the suite as well.
//
// What the suite tests:
//
//   - what was acknowledged is there after reopening and after a crash;
//   - no handler starts early;
//   - each ID and revision has one outcome: done, dropped, dead, cancelled, replaced or skipped, and a
//     revision never goes back;
//   - a call of a handler that was postponed counts no attempt;
//   - Cancel and the conditions tell the truth while a timer is armed, handled, or waits for another
//     attempt, and the operations on an ID are linearizable, the firing included;
//   - periodic timers stay on their grid, and what they have missed is one Fire;
//   - what is overdue fires oldest first, Concurrency at a time;
//   - bad input is refused, with the field and the bound, and is not stored;
//   - List selects what a filter over all timers would;
//   - after Close every call returns [durable.ErrClosed].
package storetest
