package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/foliot-go/foliot/internal/testkit"
)

// A foreign caller may make a task ready while the worker is busy. The worker may be released before the
// caller wakes its owner.
func TestATaskThatBecameReadyInAForeignBubbleIsPolled(t *testing.T) {
	eng, err := New(Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Shutdown(t.Context(), func() int { return 0 })
	var runs atomic.Int32
	it := newTestTask(t, eng, func(*testTask) { runs.Add(1) })
	w := it.s.owner.Load()
	it.wake()
	testkit.Eventually(t, "the task was polled", func() bool {
		return runs.Load() == 1 && w.busy.Load() == 0
	})
	synctest.Test(t, func(*testing.T) {
		if it.s.mayWake() {
			t.Error("mayWake returns true in a foreign bubble, want false")
		}
		it.wake()
	})
	testkit.Eventually(t, "the task was polled again", func() bool { return runs.Load() == 2 })
}
