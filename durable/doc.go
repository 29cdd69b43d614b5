// Package durable has timers that survive the process: order expiry, reminders, deadlines of
// contracts, retries that come hours later, subscriptions. A timer is in a store before Schedule
// returns. If the process crashes, the next one goes on where it ended. A timer of package foliot waits
// for the next deadline, and nothing polls: a handler is usually late by less than a millisecond.
//
//	store, err := local.Open(dir, local.Options{})
//	check(err)
//	defer store.Close()
//	s, err := durable.New(store, durable.Options{})
//	check(err)
//	s.Handle("expire", func(ctx context.Context, f durable.Fire) error { return expire(ctx, f.ID) })
//	_, err = s.Schedule(ctx, durable.Timer{ID: "order-17", At: time.Now().Add(time.Second), Kind: "expire"})
//	check(err)
//	check(s.Run(ctx)) // calls handlers until ctx ends
//
// Here dir is a folder, and check ends the program if its argument is not nil.
//
// A store keeps the timers. Package durable/local has one in a folder, for one process. Package
// durable/jetstream has one on NATS JetStream, for any number of processes. A [Scheduler] is the API in
// front of a store. Its methods may be called from any goroutine, before, during and
// after [Scheduler.Run]. Timers that come due while no Run runs fire when the next one begins.
//
// # Timers
//
// A function cannot be stored. So a [Timer] names its handler by Kind, and has a Payload for it. The
// program chooses the ID, for example that of an order. A store has at most one timer with an ID, and
// [Scheduler.Schedule] replaces the one that is there. [IfAbsent] keeps it instead, and [IfRev]
// replaces a certain revision only:
//
//	_, err := s.Schedule(ctx, t, durable.IfAbsent())
//	if errors.Is(err, durable.ErrExists) { … }
//
// [Scheduler.Cancel] removes a timer and says whether the handler will be called. [Scheduler.Get] and
// [Scheduler.List] look at timers. [Scheduler.ScheduleBatch] arms many timers with one write.
//
// While its handler runs, a timer is not armed any more. Cancel returns false, and Schedule with IfRev
// returns [ErrRev]. Get and List show the timer until it has an outcome. A plain Schedule succeeds:
// the timer that is being handled gets no further attempt, and its end does not touch the new one.
//
// # Promises
//
//   - Kept. If Schedule or Cancel returns nil, the change survives a crash of the process. It survives
//     a power cut, too, unless the store was told not to sync.
//   - Not early. A handler starts at the time of its timer or later, by the wall clock.
//   - One outcome. For each ID and revision there is exactly one of: done, dropped, dead, cancelled,
//     replaced, skipped.
//   - At least once. After a crash between the begin of a handler and its outcome, the handler is
//     called again with the same [Fire.Key] and a greater Attempt.
//   - Cancel is truthful. If it returns true, no attempt starts from then on. If it returns false,
//     nothing was armed. Of a Cancel and a firing at the same instant, exactly one wins.
//   - Never at once. Two attempts of one occurrence do not overlap; on JetStream they may if a process
//     was silent for four seconds and has not ended.
//   - No stampede. After downtime, timers that are overdue fire oldest first, Options.Concurrency at
//     a time. Missed occurrences of a periodic timer are one [Fire].
//   - Not lost in memory. If the disk is full or fails, Schedule returns an error. Timers that were
//     armed stay. The store stops, and Run returns the error.
//   - Bad input is refused before it is stored, with [ErrInvalid] or [ErrTooLarge].
//
// # What they cost
//
// Schedule and Cancel wait for one write to the disk. Callers that come at the same time share it, so
// many callers together are far faster than one. A firing writes twice: before the handler starts, so
// that the attempt is counted, and when it has ended. Firings of the same moment share these writes. The
// first one is made up to a millisecond before the deadline, so that the handler starts at the deadline;
// Cancel returns false from then on.
//
// At least once means that the work of a handler must be such that it can be done twice, see [Fire.Key].
//
// A timer takes less than 250 bytes of memory and its ID. Its payload stays in the store until it
// fires. Of millions of timers, memory holds those that are due next.
//
// # Failures
//
// A handler that returns an error or panics is called again: after a second, then after pauses that
// double up to ten minutes, with jitter, 16 times in all. [Retry] has other values.
// [RetryAfter] sets the pause of one attempt. [Postpone] is for a handler that could not begin: the call does
// not count as an attempt. [Drop] ends the attempts at once. When they are used up, the timer is dead:
// [Scheduler.Dead] lists it, [Scheduler.Redrive] arms it again, [Scheduler.Discard] removes it. A dead timer
// does not hold its ID: the same ID can be scheduled anew.
//
// A kind without a handler is logged once. Its timers stay due, and fire in the next Run that has a
// handler for it.
//
// # Periodic timers
//
// A timer with Every is due at At, At+Every, At+2*Every and so on, whatever its handler takes. The
// next occurrence is armed when one fires, and each has its own revision. Get shows the next one. If
// occurrences were missed, because no process ran or no handler was free, the latest one fires, and
// Fire.Missed counts the others. A retry that would come after the next occurrence gives way to it. A
// dead occurrence does not end the series. Cancel during an occurrence ends the series, and returns
// true. A handler that takes longer than Every runs beside that of the next occurrence, and gets no
// further attempt, not even after a crash. To avoid this, use a timer that is due once, and schedule
// the next one as the last step of the handler. A handler that returns [EndSeries] ends the series, also
// if the next occurrence has fired meanwhile.
//
// A calendar, such as every day at three o'clock, is a timer with ByNext and a function that returns the
// next occurrence, see [Scheduler.HandleNext]. All else is as with Every.
//
// # The clock
//
// Timers are due by the wall clock, because they outlive the process and the monotonic clock does not.
// If the clock is set back, they wait. If it is set forward, they fire. Steps, and the time for which
// a machine was suspended, are noticed within a second. Options.Late says whether timers that came
// due while no Run was running fire, or are skipped if they are too late.
//
// With a [foliot.ManualClock] in Options.Clock a test needs no waiting: when Advance returns, the
// handlers of the timers that came due have started, in order. Run must have begun before. To be sure
// of that, schedule a timer that is due now and wait for its handler. Package
// durable/storetest has a store in memory for tests.
//
// # The end
//
// When the context of Run ends, no handler is started any more. Run waits for those that run, at most
// for Options.Drain; near its end their contexts end. Then it returns, and the program closes the
// store. There is no need to end in this way: a process that is killed loses nothing.
//
// # Looking inside
//
// [Scheduler.Stats] has the number of pending, running and dead timers, counters of outcomes, and
// histograms of lateness and of the time that writes take. [Scheduler.Runtime] is for package inspect.
// Options.Logger gets failed attempts, panics, dead timers and steps of the clock. The command foliot shows
// and changes the timers of a folder while no process uses it: foliot ls --data DIR.
//
// # What it is not
//
// It is not a job queue: a timer is not handed to a fleet of workers, and there are no priorities and
// no rate limits. River and asynq are. It is not a workflow engine: a handler is one step, and what
// comes next is another timer. Temporal is one. Timers that may die with the process belong to package
// foliot, where one costs well below a microsecond.
package durable
