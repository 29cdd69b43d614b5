package engine

import "fmt"

const (
	modelNever    = 7 // no deadline
	lastDeadline  = 3 // the last deadline that can be armed
	modelFarAway  = 1 // deadlines further away than this are far
	modelRetry    = 1 // how long after a failure no timerfd is opened
	maxGoroutines = 5 // at a time
)

// earliestOf returns the earliest of a set of deadlines, which has a bit for each.
func earliestOf(deadlines uint8) uint8 {
	for d := uint8(0); d <= lastDeadline; d++ {
		if deadlines>>d&1 != 0 {
			return d
		}
	}
	return modelNever
}

// A timekeeperState is a state of the model.
type timekeeperState struct {
	now     uint8
	wheel   [2]uint8 // by shard: the deadlines that are armed, a bit for each
	next    [2]uint8 // by shard
	busy    [2]uint8 // by worker: the goroutine that has the turn, its index plus 1; 0: none
	wakeAt  uint8
	locked  bool // mu is locked
	mode    mode
	epoch   uint8
	closed  bool
	alarm   uint8 // the number of the open timerfd; 0: none is open
	opened  uint8 // how many timerfds were opened
	retryAt uint8 // no timerfd is opened before this time
	alarmAt uint8 // when the timerfd wakes the driver
	stdAt   uint8 // when std starts a driver
	park    parkState
	limits  limits
	choice  choice // what the next step must choose
	crowded bool   // there was no room for a goroutine
	armers  [2]armer
	runs    [maxGoroutines]modelRun
}

// A parkState is the state of the timer that calls onPark, and of timekeeper.parking.
type parkState uint8

const (
	parkOff     parkState = iota // parking is false
	parkSet                      // parking is true, and the timer is set. It may fire at any time
	parkStarted                  // parking is true, and onPark was called
)

// limits says how often something may still happen.
type limits struct {
	blocks    uint8 // the watchdog finds a callback blocked
	delegates uint8 // the driver delegates a worker
	overdue   uint8 // the watchdog calls runLate
	failures  uint8 // a timerfd fails
	idle      uint8 // an unused timerfd is closed, or std starts a driver for that
	shutdowns uint8 // Shutdown is called
}

// A choice is what a step does where it can do one thing or another.
type choice uint8

const (
	normal choice = iota
	openFails
	setFails
	waitFails
	closesIdle // a timerfd is closed because it was not used
	numChoices
)

// allows reports whether a choice may still be made.
func (s *timekeeperState) allows(c choice) bool {
	switch c {
	case normal:
		return true
	case closesIdle:
		return s.limits.idle > 0
	}
	return s.limits.failures > 0
}

// chooses reports whether the step must make a choice here. A step makes each choice once.
func (s *timekeeperState) chooses(c choice) bool {
	if s.choice != c {
		return false
	}
	s.choice = normal
	if c == closesIdle {
		s.limits.idle--
	} else {
		s.limits.failures--
	}
	return true
}

// An armer is a goroutine that arms deadlines, one after the other.
type armer struct {
	done   uint8 // how many orders it has carried out
	notify notifyCall
	seen   uint8 // for comparesTooEarly: wakeAt before the arming
	looked bool  // for comparesTooEarly: seen is set
}

// An armOrder is a deadline that an armer arms in a shard, or stops. Each worker has one shard.
type armOrder struct {
	shard, at uint8
	stop      bool
}

// A notifyCall is the progress of a call of timekeeper.notify for the deadline at.
type notifyCall struct {
	pc, at uint8
	w      uint8 // the worker that it looks at in mode parked
	found  bool  // a worker that is not busy has the deadline, or an earlier one
}

const (
	notifyNone    uint8 = iota // there is no call
	notifyCompare              // load wakeAt, and return if it is not later
	notifyLock                 // lock mu
	notifyAgain                // compare again
	notifyBusy                 // in mode parked: skip a worker that is busy
	notifyRead                 // in mode parked: load next of a worker
	notifyLower                // lower wakeAt
	notifySet                  // set the alarm or start a driver, and unlock mu
	notifyPark                 // not notify, but askToPark
)

var armerSteps = [...]string{"stores", "compares", "locks", "compares again", "checks busy", "reads next", "lowers", "sets", "asks to park"}

// A modelRun is a goroutine that is the driver, runs a worker or is in onPark.
type modelRun struct {
	pc     uint8
	driver bool
	late   bool // it is in runLate, because the driver is late
	epoch  uint8
	w      uint8 // the worker that it runs or looks at
	again  bool  // in runDue: a worker was claimed in this round. In onPark: not idle
	now    uint8 // when the driver has read the clock in runDue
	at     uint8 // the earliest deadline read so far. In onPark: wakeAt before
	alarm  uint8 // the timerfd that the driver waits for
	notify notifyCall
}

const (
	runGone uint8 = iota

	// runDue, and a worker that runs
	runStdTimer // onStdTimer: become the driver
	runWake     // the driver wakes: wakeAt = 0
	runSurvey   // check whether a worker has timers due
	runClaim    // claim it
	runPop      // pop a timer that is due
	runCallback // in a callback, which may block
	runRelease  // busy = 0
	runReread   // load next of the worker
	runNotify   // call notify with it

	// the driver falls asleep
	runSettle    // wakeAt = never
	runCheckBusy // skip a worker that is busy
	runReadNext  // load next of a worker
	runLock      // lock mu
	runLower     // take the earlier of the deadline and wakeAt
	runDecide    // set the alarm or park, and unlock mu
	runAsleep    // wait for the alarm
	runFailed    // close the timerfd that could not be read
	runSpin      // spin until wakeAt

	// onPark
	parkLock      // lock mu. In mode awake: try again later. Otherwise parking = false, and in mode far wakeAt = never
	parkUpdate    // raise next of a shard that is empty
	parkCheckBusy // skip a worker that is busy
	parkReadNext  // load next of a worker
	parkDecide    // park, or restore wakeAt, and unlock mu
)

var runSteps = [...]string{
	"is gone",
	"is started by std", "wakes", "surveys", "claims", "pops", "returns from a callback",
	"releases", "rereads", "notifies",
	"settles", "checks busy", "reads next", "locks", "lowers", "decides", "is woken",
	"closes the timerfd", "has spun",
	"locks to park", "updates next to park", "checks busy to park", "reads next to park",
	"decides to park",
}

// A timekeeperStep names a step: the actor, its number, and its place in what it does.
type timekeeperStep struct {
	actor string
	n, pc uint8
}

func (k timekeeperStep) String() string {
	switch k.actor {
	case "armer":
		return fmt.Sprintf("armer %d %s", k.n, armerSteps[k.pc])
	case "goroutine":
		return fmt.Sprintf("goroutine %d %s", k.n, runSteps[k.pc])
	}
	return fmt.Sprintf("%s %d", k.actor, k.n)
}

// A timekeeperFault is a way to get the protocol wrong.
type timekeeperFault uint8

const (
	timekeeperSound  timekeeperFault = iota
	readsTooEarly                    // the driver reads the shards before it sets wakeAt to never
	comparesTooEarly                 // an armer loads wakeAt before it stores next
	releasesTooLate                  // busy = 0 comes after notify
	skipsNotify                      // release does not call notify
	ignoresWakeAt                    // the driver waits for the deadline it has read, not for wakeAt
	lowersBlindly                    // notify does not compare again under mu
	startsAnyway                     // std starts a driver although there is one
	setsAnyway                       // notify sets the alarm although the driver is awake
	raisesBlindly                    // next is raised without the lock of the shard
	staysDriver                      // the watchdog replaces a blocked driver only in its worker
	continuesAnyway                  // a driver that was replaced looks at the other workers
	parksTooEarly                    // onPark reads the shards before it sets wakeAt to never
	givesUp                          // onPark does nothing unless the mode is far
	skipsAwake                       // onPark in mode awake raises next and does not try again
	trustsStale                      // notify in mode parked sets std for a deadline that is gone
	clearsTooLate                    // onPark sets parking to false after it has read the shards
	staysNear                        // no timerfd can be opened, and std is not set instead
	setsNothing                      // the timerfd cannot be set, and std is not set instead
	leavesOpen                       // a driver that finds the timekeeper closed keeps the timerfd
	opensAnyway                      // the driver opens a timerfd although the timekeeper is closed
	doesNotWake                      // Shutdown does not wake the driver
	numTimekeeperFaults
)
