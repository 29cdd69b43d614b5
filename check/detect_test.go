package check

import (
	"testing"
	"time"
)

// The recorder and the model judge a plain implementation of timers: without a defect
// it is legal whatever happens, with one it is found out.

func TestACorrectReferenceRaisesNoAlarm(t *testing.T) {
	for _, m := range []mix{oneTimer, severalTimers, oneShots, everything} {
		for _, end := range []ending{settled, abrupt} {
			limit := time.Now().Add(share(8))
			for seed := *seedFlag; time.Now().Before(limit); seed++ {
				if err := newBatch(newReference(none, seed), m, seed).run(5, end, false); err != nil {
					report(t, seed, err)
				}
			}
		}
	}
}

func TestEachDefectOfAReferenceIsFound(t *testing.T) {
	for name, d := range map[string]defect{
		"Stop lies":                              stopLies,
		"Stop is coy":                            stopIsCoy,
		"Stop is blind to what is armed mid-run": stopIsBlind,
		"Stop is true on an idle timer":          stopIsGenerous,
		"Reset forgets":                          resetForgets,
		"Reset refuses":                          resetRefuses,
		"Reset keeps the earlier deadline":       resetKeepsDeadline,
		"it runs twice":                          runsTwice,
		"it runs early":                          runsEarly,
		"Free forgets the arming":                freeForgets,
		"Free is undone by Reset":                freeIsUndone,
		"Deadline is old":                        deadlineIsOld,
	} {
		t.Run(name, func(t *testing.T) {
			limit := time.Now().Add(patience)
			for seed := *seedFlag; ; seed++ {
				b := newBatch(newReference(d, seed), everything, seed)
				b.wait = 100 * time.Millisecond // what a defect has lost is lost
				if err := b.run(5, settled, false); err != nil {
					return
				}
				if time.Now().After(limit) {
					t.Fatalf("not found in %d batches", seed-*seedFlag)
				}
			}
		})
	}
}
