package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// sensitive names the functions that read the clock, set a timer of the standard library, start
// a goroutine or make a channel: what goes wrong in a foreign bubble. Each says why it does not.
var sensitive = map[string]string{
	// On goroutines of the runtime.
	"worker.serve":              "runs a worker",
	"worker.call":               "runs a worker",
	"worker.finishAbnormal":     "runs a worker, or a callback away from one",
	"worker.runSpawnedOnce":     "runs a callback",
	"worker.delegate":           "hands a worker on",
	"worker.linger":             "runs a worker",
	"worker.spawn":              "runs a worker",
	"worker.callGoFor":          "runs a worker",
	"worker.callGo":             "runs a worker",
	"worker.startCaller":        "runs a worker, or the watchdog",
	"runMode.restart":           "runs a worker",
	"Engine.startFunc":          "runs a worker, or the caller has been through Enter",
	"handoff.rescue":            "runs a worker, or a cleanup",
	"handoffs.add":              "runs a worker, and asks sweeps",
	"handoffs.releaseOld":       "a timer",
	"timekeeper.spaceOut":       "the timekeeper",
	"timekeeper.driveOnce":      "the timekeeper",
	"timekeeper.spin":           "the timekeeper",
	"timekeeper.dispatch":       "the timekeeper",
	"timekeeper.alarmFailed":    "the timekeeper, or the caller has been through Enter",
	"timekeeper.waitForAlarm":   "the timekeeper",
	"timekeeper.onWatchdog":     "the watchdog",
	"timekeeper.replaceBlocked": "the watchdog",
	"timekeeper.runOverdue":     "the watchdog",
	"scrubber.onTimer":          "a timer",
	"reaper.sweep":              "a cleanup",
	"tasks.spawn":               "runs a task",
	"ManualClock.Now":           "a manual clock reads the same everywhere",
	"ManualClock.Advance":       "the goroutine and the channel are of one bubble, and nobody else sees them",

	// When the runtime is made.
	"New":                 "the runtime belongs to the bubble that it is made in",
	"goroutineGroup.open": "the runtime belongs to the bubble that it is made in",
	"stdTimer.open":       "the runtime belongs to the bubble that it is made in",

	// On goroutines of the user's.
	"Clock.enterFake":        "this is the check",
	"Clock.spinFor":          "the caller has been through Enter",
	"Queue.Wait":             "goes through EnterToWait",
	"newSleeper":             "the caller has been through EnterToWait",
	"timekeeper.notify":      "the caller has been through Enter, or the shard has nothing earlier",
	"timekeeper.setAlarm":    "the caller has been through Enter",
	"timekeeper.setWatchdog": "the caller has been through Enter",
	"timekeeper.startWorker": "goes through Enter",
	"scrubber.start":         "asks foreign",
	"stdTimer.reset":         "the callers are in this list",
}

func TestWhatAForeignBubbleWouldBreakIsCheckedFirst(t *testing.T) {
	found := map[string]bool{}
	var files []string
	for _, pattern := range []string{"*.go", "../../*.go"} { // this package and package foliot
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, names...)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "probe.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if isSensitive(n) {
					found[funcName(f)] = true
				}
				return true
			})
		}
	}
	for _, f := range slices.Sorted(maps.Keys(found)) {
		if sensitive[f] == "" {
			t.Errorf("%s reads the clock, sets a timer, starts a goroutine or makes a channel; let it go through Enter, or say in the list why it need not", f)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(sensitive)) {
		if !found[f] {
			t.Errorf("%s is in the list for nothing", f)
		}
	}
}

func isSensitive(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.Ident:
			if f.Name == "make" {
				_, isChan := n.Args[0].(*ast.ChanType)
				return isChan
			}
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); ok && x.Name == "time" {
				return f.Sel.Name == "AfterFunc" || f.Sel.Name == "NewTimer"
			}
			switch f.Sel.Name {
			case "Now":
				x, ok := f.X.(*ast.SelectorExpr)
				return !ok || x.Sel.Name != "w" // that of a wheel
			case "reset":
				return len(n.Args) == 1 // of a stdTimer
			case "Reset":
				x, ok := f.X.(*ast.SelectorExpr)
				return ok && x.Sel.Name == "timer"
			}
		}
	}
	return false
}

// funcName returns Type.Method or the name of a function.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	return typ.(*ast.Ident).Name + "." + f.Name.Name
}

// A foreign caller may find the worker busy, be allowed to add an item for that, and find it
// released afterwards.
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
	for runs.Load() != 1 || w.busy.Load() != 0 {
		time.Sleep(time.Millisecond)
	}
	synctest.Test(t, func(*testing.T) {
		if it.src.s.MayAnnounce() {
			t.Error("MayAnnounce returns true in a foreign bubble")
		}
		it.wake()
	})
	for end := time.Now().Add(20 * time.Second); runs.Load() != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the item is not run")
		}
	}
}
