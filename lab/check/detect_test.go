package check

import (
	"testing"
	"time"
)

// The checks are applied to a simple implementation of timers. Without a defect all of its
// histories are legal. With a defect one of them is illegal.

func TestACorrectReferenceIsAccepted(t *testing.T) {
	for _, load := range []workload{oneTimer, severalTimers, oneShots, allOps} {
		for _, end := range []ending{settled, abrupt} {
			limit := time.Now().Add(share(8))
			for seed := *seedFlag; time.Now().Before(limit); seed++ {
				if err := newBatch(newReference(none, seed), load, seed).run(5, end, false); err != nil {
					report(t, seed, err)
				}
			}
		}
	}
}

func TestEachDefectOfAReferenceIsFound(t *testing.T) {
	for name, d := range map[string]defect{
		"Stop keeps the arming":                      stopKeepsArming,
		"Stop returns false":                         stopReturnsFalse,
		"Stop misses an arming made in the callback": stopMissesRearming,
		"Stop returns true on an idle timer":         idleStopReturnsTrue,
		"Reset arms nothing":                         resetArmsNothing,
		"Reset returns false":                        resetReturnsFalse,
		"Reset keeps the earlier deadline":           resetKeepsDeadline,
		"it runs twice":                              runsTwice,
		"it runs early":                              runsEarly,
		"Free keeps the arming":                      freeKeepsArming,
		"Reset works after Free":                     freedTimerWorks,
		"Deadline is old":                            deadlineIsOld,
	} {
		t.Run(name, func(t *testing.T) {
			limit := time.Now().Add(timeout)
			for seed := *seedFlag; ; seed++ {
				b := newBatch(newReference(d, seed), allOps, seed)
				b.wait = 100 * time.Millisecond // a lost arming never runs
				if err := b.run(5, settled, false); err != nil {
					return
				}
				if time.Now().After(limit) {
					t.Fatalf("the defect was not found in %d batches", seed-*seedFlag)
				}
			}
		})
	}
}
