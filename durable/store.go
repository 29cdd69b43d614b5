package durable

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// A Store keeps timers and decides what happens to them. Packages durable/local, durable/jetstream and
// durable/storetest have stores. A program opens one, gives it to [New] and closes it at the end; it
// calls no other method of it. The rest of this comment is for those who write a store.
//
// The methods of a Store may be called from any goroutine. A Store decides the operations on one ID
// one after the other: of a Cancel and a firing at the same instant, one wins. No method returns a
// result before everything that the result is based on is kept, so that a crash does not undo it.
// After an error that leaves open what is kept, all methods return that error.
//
// Times have been checked by the Scheduler, as have IDs, kinds and payloads. A Store returns times
// without a monotonic clock reading.
//
// The suite of durable/storetest tests a Store.
type Store interface {
	// Schedule arms timers: all of them, or none if it returns an error. A timer that is there is
	// replaced, also one that is being handled, if the condition allows it. If an ID occurs more
	// than once, the last timer wins.
	Schedule(ctx context.Context, ts []Timer, on Condition) (revs []uint64, err error)

	// Cancel removes what is armed for the ID and reports whether there was something.
	Cancel(ctx context.Context, id string, on Condition) (ok bool, err error)

	// Get returns a timer. For a periodic one, At and Rev are those of the next occurrence.
	Get(ctx context.Context, id string) (t Timer, ok bool, err error)

	// List returns the timers that match a query, in order. A timer that changes meanwhile may be left
	// out, or may come twice if it moves on in the order.
	List(ctx context.Context, q Query) iter.Seq2[Timer, error]

	// Dead returns the occurrences whose attempts are used up, in the order of their IDs. There is
	// at most one for each ID, the last one. Fire.Error is that of its End.
	Dead(ctx context.Context) iter.Seq2[Fire, error]

	// Redrive arms a dead timer for a time, once, and removes it from the dead ones. It returns
	// ErrExists if there is a timer with the ID.
	Redrive(ctx context.Context, id string, at time.Time) (ok bool, err error)

	// Discard removes a dead timer.
	Discard(ctx context.Context, id string) (ok bool, err error)

	// Counts returns how many timers there are.
	Counts() Counts

	// Watch tells w from now on when the Scheduler must look at which timer. It returns an error if
	// the store already has a watcher. stop ends it: no method of w is running or called afterwards.
	Watch(w Watcher) (stop func(), err error)

	// Waiting returns the timers that the Scheduler must look at at a time or later, in the order of
	// these times. With a zero from it returns all, beginning with occurrences of periodic timers
	// that a process was handling when it ended. It may return a timer that needs no look.
	Waiting(from time.Time) iter.Seq2[Wake, error]

	// Fire looks at timers and decides which of them fire. These are being handled from then on,
	// until Finish. For a timer that is armed for later, Fire calls Watcher.Wake.
	Fire(ids []string, r Rules) (Fired, error)

	// Finish ends an attempt. It reports whether it ended as End says: it does not if the timer was
	// replaced or cancelled meanwhile, or if another attempt would come after the next occurrence. Of an
	// occurrence that others of the same series have followed, only the end Ended counts: it does what Cancel
	// does. wait returns when the end is kept.
	Finish(f Fire, end End) (ok bool, wait func() error, err error)
}

// A Watcher is the side of the Scheduler that a Store calls. Its methods return at once. A store
// calls them for one ID in the order of its decisions.
type Watcher interface {
	// Wake makes the Scheduler call Fire for the ID at a time, instead of at the time that it was
	// told before. Extra calls are harmless: Fire decides.
	Wake(w Wake)

	// Gone says that nothing is armed for the ID any more.
	Gone(id string)

	// Failed says that the store cannot go on. Run returns the error.
	Failed(err error)

	// Handles reports whether the Scheduler has a handler of a kind, as Rules.Handled does. It does not
	// change while the Watcher is there.
	Handles(kind string) bool

	// HasNext reports whether the Scheduler has a NextFunc of a kind, as Rules.HasNext does. It does not
	// change either.
	HasNext(kind string) bool
}

// A Wake is a time at which the Scheduler must look at a timer.
type Wake struct {
	ID string
	At int64 // nanoseconds since 1970, by the wall clock
}

// Rules are what the Scheduler asks for in Fire.
type Rules struct {
	Now        time.Time              // timers whose time has come by then fire
	SkipBefore time.Time              // occurrences that were due before then are skipped, of timers that were armed before Watch; zero: none
	Attempts   int                    // the number of attempts after which one that a crash has cut off is repeated once only; -1: any number
	Handled    func(kind string) bool // reports whether there is a handler; timers of other kinds do not fire

	// Next returns the first occurrence of a timer with ByNext after a time, or the zero time if there is
	// none. t has its payload, and not more than one goroutine uses it.
	Next func(t Timer, after time.Time) time.Time

	// HasNext reports whether Next can be called for timers of a kind.
	HasNext func(kind string) bool
}

// Handles reports whether a timer can fire: there is a handler for its kind, and with ByNext a function for
// its next occurrence.
func (r Rules) Handles(t Timer) bool {
	return r.Handled(t.Kind) && (!t.ByNext || r.HasNext(t.Kind))
}

// Fired is what Fire has decided.
type Fired struct {
	Fires     []Fire  // the occurrences to be handled, in the order of ids
	Skipped   []Timer // skipped by Rules.SkipBefore
	Unhandled []Timer // due, but without a handler; they stay armed
	Dead      []Fire  // cut off by a crash too often; Fire.Error says so

	// Wait returns nil when the decision is kept. Handlers must not be called before. It is called at
	// least once if something fires, is skipped or is dead.
	Wait func() error
}

// An End is how an attempt ended.
type End struct {
	How   How
	Retry time.Time // How == Again, Postponed: the time of the next attempt
	Error string    // How == Dead: the error of the last attempt, at most 1 KiB of UTF-8
}

// How says how an attempt ended.
type How int

const (
	Done      How = iota // the occurrence is done or dropped
	Again                // it is tried again
	Dead                 // its attempts are used up
	Ended                // it is done, and no further occurrence of the timer follows
	Postponed            // it is tried again, and the attempt does not count: the next one has the same number
)

// A Condition is what Schedule and Cancel demand of a timer. The zero Condition demands nothing.
type Condition struct {
	Absent bool // there is no timer
	HasRev bool // it is armed and has the revision Rev
	Rev    uint64
}

// Counts are numbers of timers in a store.
type Counts struct {
	Pending int  // timers that have no outcome yet
	Dead    int  // timers whose attempts are used up
	Exact   bool // false: the store is still counting, and there may be more
}

// If is a condition for [Scheduler.Schedule] and [Scheduler.Cancel].
type If struct{ set func(*Condition) error }

// IfAbsent demands that there is no timer with the ID. Cancel does not take it.
func IfAbsent() If {
	return If{func(c *Condition) error { c.Absent = true; return nil }}
}

// IfRev demands that the timer is armed and has a revision.
func IfRev(rev uint64) If {
	return If{func(c *Condition) error {
		if c.HasRev && c.Rev != rev {
			return fmt.Errorf("%w: IfRev(%d) and IfRev(%d) exclude each other", ErrInvalid, c.Rev, rev)
		}
		c.HasRev, c.Rev = true, rev
		return nil
	}}
}

// condition returns the condition that demands everything in on.
func condition(on []If) (c Condition, err error) {
	for _, i := range on {
		if i.set == nil {
			return c, fmt.Errorf("%w: the zero If; use IfAbsent or IfRev", ErrInvalid)
		}
		if err := i.set(&c); err != nil {
			return c, err
		}
	}
	if c.Absent && c.HasRev {
		return c, fmt.Errorf("%w: IfAbsent and IfRev exclude each other", ErrInvalid)
	}
	return c, nil
}

// A Query selects timers for [Scheduler.List]. The zero Query selects all.
type Query struct {
	Prefix   string    // of the ID
	Kind     string    // empty means any
	From, To time.Time // due in [From, To); zero means no bound
	ByDue    bool      // in the order of At, then ID; otherwise of ID
	After    string    // begin after this ID; with ByDue after the place of the timer with this ID
	Limit    int       // 0 means all
}
