package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/foliot-go/foliot/internal/testkit"
)

// A foreign caller may add an item while the worker is busy. The worker may be released before the
// caller announces the item.
func TestAnItemThatBecameReadyInAForeignBubbleIsRun(t *testing.T) {
	eng, err := New(Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Shutdown(t.Context(), func() int { return 0 })
	var runs atomic.Int32
	it := newItem(t, eng, func(*testItem) { runs.Add(1) })
	w := it.src.s.owner.Load()
	it.wake()
	testkit.Eventually(t, "the item was run", func() bool {
		return runs.Load() == 1 && w.busy.Load() == 0
	})
	synctest.Test(t, func(*testing.T) {
		if it.src.s.MayAnnounce() {
			t.Error("MayAnnounce returns true in a foreign bubble, want false")
		}
		it.wake()
	})
	testkit.Eventually(t, "the item was run again", func() bool { return runs.Load() == 2 })
}
