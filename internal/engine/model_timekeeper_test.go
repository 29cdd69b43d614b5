package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/testkit"
)

// A timekeeperModel is a model of the timekeeper's protocol. A step is one access to shared
// memory, or everything that is done under mu and cannot be seen without mu. Time is a number of
// ticks, and may pass at any step. Slack and the spacing of wake-ups are left out: they only
// change the time of the alarm. A timerfd that is not used may be closed at any time, not only
// after alarmIdle.
//
//	model_timekeeper_test.go         what must be true; the scenarios and tests
//	model_timekeeper_state_test.go   the states and the faults
//	model_timekeeper_armer_test.go   the steps of armers, of the watchdog and of Shutdown
//	model_timekeeper_run_test.go     the steps of the driver and of goroutines that run workers
//
// The fields are the same in all states.
type timekeeperModel struct {
	orders  [2][]armOrder // what the armers arm
	end     uint8         // the time after which time does not pass
	timerfd bool          // timerfds can be opened
	spin    uint8         // how long before a deadline the driver spins
	fault   timekeeperFault
	emit    func(step timekeeperStep, to timekeeperState)
}

// check returns an error if a state is wrong.
func (m *timekeeperModel) check(s *timekeeperState) error {
	var (
		current  int                 // goroutines that are the current driver
		sleepers int                 // goroutines that wait for the open timerfd
		wrong    bool                // one of these is not the current driver
		blocked  bool                // the current driver is in a callback, and was replaced there
		wait     = uint8(modelNever) // when the driver wakes, or std starts one
		quiet    = !s.locked         // only callbacks that return and time can change the state
		idle     bool                // quiet, and onPark will not be called
	)
	for i, r := range s.runs {
		isCurrent := r.driver && r.pc != runGone && r.pc != runStdTimer && r.epoch == s.epoch
		if isCurrent {
			current++
		}
		switch r.pc {
		case runGone:
		case runAsleep:
			if r.alarm != s.alarm {
				quiet = false // its timerfd is closed, so it wakes
				continue
			}
			sleepers++
			wait = s.alarmAt
			wrong = wrong || !isCurrent
		case runSpin:
			wait = s.wakeAt
		case runCallback:
			quiet = quiet && !isCurrent
			blocked = blocked || isCurrent && s.busy[r.w] != uint8(i+1)
		default:
			quiet = false
		}
	}
	if s.mode == modeFar {
		wait = s.stdAt
	}
	for _, a := range s.armers {
		quiet = quiet && a.notify.pc == notifyNone && !a.looked
	}
	idle = quiet && s.park == parkOff && !s.closed
	switch {
	case current > 1 || sleepers > 1:
		return fmt.Errorf("%d drivers are current and %d wait for the alarm, want at most 1",
			current, sleepers)
	case current == 0 && (s.mode == modeAwake || s.mode == modeNear):
		return fmt.Errorf("the mode is %d, and there is no driver", s.mode)
	case wrong:
		return fmt.Errorf("a driver that was replaced waits for the alarm")
	case blocked:
		return fmt.Errorf("a driver that is blocked in a callback is still the driver")
	case idle && s.mode == modeFar && s.stdAt > s.now && s.wheel == [2]uint8{}:
		return fmt.Errorf("no timer is armed, but a driver is started at %d", s.stdAt)
	}
	for w, wheel := range s.wheel {
		if d := earliestOf(wheel); quiet && s.busy[w] == 0 && d < wait && wait > s.now {
			return fmt.Errorf("worker %d has the deadline %d, but the driver wakes at %d", w, d, wait)
		}
	}
	return nil
}

// final returns an error if a state in which no step is possible is wrong.
func (m *timekeeperModel) final(s *timekeeperState) error {
	for i, r := range s.runs {
		if r.pc != runGone {
			return fmt.Errorf("goroutine %d does not end: it %s", i, runSteps[r.pc])
		}
	}
	for i, a := range s.armers {
		if int(a.done) != len(m.orders[i]) || a.notify.pc != notifyNone {
			return fmt.Errorf("armer %d does not end", i)
		}
	}
	if s.closed && s.alarm != 0 {
		return fmt.Errorf("the timerfd is open after Shutdown")
	}
	if s.wheel != [2]uint8{} || s.busy != [2]uint8{} {
		return fmt.Errorf("deadlines are left: %b, or turns: %v", s.wheel, s.busy)
	}
	return nil
}

// A timekeeperScenario says in which state an exploration begins, and what may happen.
type timekeeperScenario struct {
	orders [2][]armOrder // what the armers arm
	end    uint8         // the time after which time does not pass
	busy   bool          // at first, a goroutine is in a callback of the second worker
	armed  [2]uint8      // deadlines armed at first, which the driver is about to look at
	limits limits
}

var timekeeperScenarios = []timekeeperScenario{
	0: {
		end: 3, busy: true,
		orders: [2][]armOrder{{{shard: 0, at: 2}}, {{shard: 1, at: 1}}},
	},
	1: {
		end: 3, busy: true,
		orders: [2][]armOrder{{{shard: 1, at: 1}}, {{shard: 1, at: 3}}},
	},
	2: {
		end: 3, busy: true,
		orders: [2][]armOrder{
			{{shard: 0, at: 2}, {shard: 0, at: 2, stop: true}},
			{{shard: 1, at: 3}},
		},
	},
	3: {end: 2, armed: [2]uint8{1 << 0, 1 << 1}, limits: limits{blocks: 2}},
	4: {
		end: 2, armed: [2]uint8{1 << 0, 1 << 1}, limits: limits{blocks: 1},
		orders: [2][]armOrder{{{shard: 0, at: 2}}},
	},
	5: {end: 2, armed: [2]uint8{1 << 0, 1 << 1}, limits: limits{blocks: 1, delegates: 1}},
	6: {
		end: 2, armed: [2]uint8{1 << 0, 1 << 1}, limits: limits{overdue: 1},
		orders: [2][]armOrder{{{shard: 0, at: 2}}, {{shard: 1, at: 1}}},
	},
	7: {end: 2, armed: [2]uint8{1 << 0, 1 << 1}, limits: limits{overdue: 1, blocks: 1}},
	8: {
		end: 2, armed: [2]uint8{1 << 0, 1 << 1}, limits: limits{delegates: 1},
		orders: [2][]armOrder{{{shard: 0, at: 2}}},
	},
	9: {
		end: 3, busy: true,
		orders: [2][]armOrder{{{shard: 0, at: 2}, {shard: 1, at: 1}}},
	},
	10: {
		end: 3, armed: [2]uint8{1 << 1, 1 << 2}, limits: limits{failures: 2},
		orders: [2][]armOrder{{{shard: 0, at: 0}}},
	},
	11: {
		end: 3, armed: [2]uint8{1 << 0, 1 << 1}, limits: limits{failures: 1, idle: 2},
		orders: [2][]armOrder{{{shard: 0, at: 3}, {shard: 0, at: 2}}},
	},
	12: {
		end: 3, armed: [2]uint8{1 << 0, 1 << 1}, limits: limits{failures: 1, idle: 1, shutdowns: 1},
		orders: [2][]armOrder{{{shard: 0, at: 3}}},
	},
	13: {
		end: 3,
		orders: [2][]armOrder{
			{{shard: 0, at: 3}, {shard: 0, at: 3, stop: true}},
			{{shard: 1, at: 1}},
		},
	},
	14: {
		end: 3, busy: true,
		orders: [2][]armOrder{
			{{shard: 1, at: 3}, {shard: 1, at: 3, stop: true}},
			{{shard: 0, at: 3}, {shard: 0, at: 3, stop: true}},
		},
	},
	15: {
		end: 3, armed: [2]uint8{1 << 1, 1 << 3}, limits: limits{blocks: 1, shutdowns: 1},
		orders: [2][]armOrder{{{shard: 1, at: 3, stop: true}}},
	},
}

func (c timekeeperScenario) explore(timerfd bool, spin uint8, fault timekeeperFault) (int, error) {
	s := timekeeperState{
		next:    [2]uint8{modelNever, modelNever},
		wakeAt:  modelNever,
		alarmAt: modelNever,
		stdAt:   modelNever,
		wheel:   c.armed,
		limits:  c.limits,
	}
	if c.busy {
		s.busy[1] = s.start(modelRun{pc: runCallback, w: 1})
	}
	if c.armed != [2]uint8{} {
		s.next = [2]uint8{earliestOf(s.wheel[0]), earliestOf(s.wheel[1])}
		s.start(modelRun{pc: runWake, driver: true, epoch: s.startDriver()})
	}
	m := timekeeperModel{orders: c.orders, end: c.end, timerfd: timerfd, spin: spin, fault: fault}
	return interleave.Explore(s, m.steps, m.check, m.final)
}

func TestNoDeadlineIsMissedAndThereIsOneDriver(t *testing.T) {
	states := 0
	for i, c := range interleave.Each(t, timekeeperScenarios) {
		for _, timerfd := range []bool{true, false} {
			for spin := range uint8(2) {
				if testing.Short() && (!timerfd || spin > 0) {
					continue
				}
				n, err := c.explore(timerfd, spin, timekeeperSound)
				if err != nil {
					t.Errorf("scenario %d, timerfd %t, spin %d: %v", i, timerfd, spin, err)
				}
				states += n
			}
		}
	}
	t.Logf("%d states", states)
}

// faultScenarios says which scenario finds a fault. The others are found by scenario 0.
var faultScenarios = [numTimekeeperFaults]int{
	raisesBlindly:   1,
	parksTooEarly:   2,
	givesUp:         13,
	skipsAwake:      13,
	trustsStale:     14,
	clearsTooLate:   14,
	staysDriver:     3,
	continuesAnyway: 3,
	staysNear:       10,
	setsNothing:     10,
	leavesOpen:      12,
	opensAnyway:     12,
	doesNotWake:     12,
}

func TestTheModelOfTheTimekeeperFindsEveryPlantedFault(t *testing.T) {
	testkit.SkipIfShort(t)
	interleave.SkipUnderRace(t)
	for fault := timekeeperSound + 1; fault < numTimekeeperFaults; fault++ {
		n, err := timekeeperScenarios[faultScenarios[fault]].explore(true, 0, fault)
		if err == nil {
			t.Errorf("fault %d is not found in %d states", fault, n)
		}
	}
}
