package local

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot-go/foliot/internal/testkit"
)

// faultStep returns 1: the tests make each operation fail. It returns 10 with -short.
func faultStep() int {
	if testing.Short() {
		return 10
	}
	return 1
}

// TestPowerCut plays the script once for each sync of a file or folder, and cuts the power there: just
// before the sync. What was acknowledged until then must be there.
func TestPowerCut(t *testing.T) {
	testkit.SkipUnderRace(t, "TestSuiteWithCrashesAndFailures runs the same code")
	useSmallTables(t)
	step := faultStep()
	for _, unsynced := range []int{0, 50} {
		t.Run(fmt.Sprintf("%d percent of what is not synced", unsynced), func(t *testing.T) {
			t.Parallel()
			cuts, calls := 0, 0
			for !t.Failed() {
				n := 1 + cuts*step
				l, cut := cutAt(t, Options{}, n, unsynced)
				calls += l.count["ack"]
				reportProblems(t, l, fmt.Sprintf("sync %d", n))
				if !cut {
					break
				}
				cuts++
			}
			t.Logf("%d power cuts", cuts)
			if cuts*step < 80 || calls == 0 {
				t.Errorf("%d power cuts and %d acknowledged calls: the script tests too little", cuts, calls)
			}
		})
	}
}

// TestPowerCutFindsNoSync checks that the test of power cuts finds what is lost without syncs.
func TestPowerCutFindsNoSync(t *testing.T) {
	useSmallTables(t)
	for _, n := range []int{60, 90, 120} {
		if l, cut := cutAt(t, Options{NoSync: true}, n, 0); cut && len(l.problems) > 0 {
			return
		}
	}
	t.Error("power cuts with NoSync lose nothing: the test finds no loss")
}

// cutAt cuts the power at the n-th sync. It returns the books, and false if there are fewer syncs.
func cutAt(t *testing.T, o Options, n, unsynced int) (*ledger, bool) {
	mem := vfs.NewCrashableMem()
	l := newLedger(4)
	var mu sync.Mutex // of all that follows
	syncs := 0
	var crashed *vfs.MemFS
	fs := faultFS{mem, func(op, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if crashed != nil || !strings.HasPrefix(op, "sync") && !o.NoSync {
			return nil
		}
		if syncs++; syncs == n {
			crashed = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rand.New(rand.NewPCG(uint64(n), 1))})
		}
		return nil
	}}
	r, err := startScript(t, fs, o, 0, func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if crashed == nil { // later reports are lost
			l.line(line)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.begin(); err != nil {
		t.Fatal(err)
	}
	r.play()
	if run, closed := r.end(); run != nil || closed != nil {
		t.Fatalf("without a fault: Run %v, Close %v", run, closed)
	}
	mu.Lock()
	defer mu.Unlock()
	if crashed == nil {
		return l, false
	}
	checkAfter(t, crashed, l, fmt.Sprintf("sync %d", n))
	return l, true
}
