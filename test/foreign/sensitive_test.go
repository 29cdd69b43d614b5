package foreign_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sensitive has the functions of packages engine and foliot that read the clock, set a timer of the standard library, start a
// goroutine or make a channel. In a foreign bubble that would be wrong. The value says why the
// function is not called there, or why it is correct there.
var sensitive = map[string]string{
	// They are called on goroutines of the engine.
	"Shard.illegalTask":         "polls a task",
	"turn.loop":                 "runs a worker",
	"turn.fire":                 "runs a worker",
	"turn.call":                 "runs a worker",
	"turn.step":                 "Advance, which refuses foreign calls",
	"advance.run":               "Advance, which refuses foreign calls",
	"turn.restart":              "runs a worker",
	"turn.abandon":              "runs a worker, or a callback apart from it",
	"turn.callApart":            "runs a callback or a poll apart from its worker",
	"turn.endGroup":             "polls a task",
	"worker.start":              "runs a worker, or the caller has called CheckedNow",
	"timekeeper.runDue":         "the timekeeper, or the watchdog",
	"timekeeper.runLate":        "the watchdog",
	"worker.spinForTasks":       "runs a worker",
	"worker.spawn":              "runs a worker",
	"worker.callGoFor":          "runs a worker",
	"worker.callGo":             "runs a worker",
	"worker.startCaller":        "runs a worker, or the watchdog",
	"Engine.startFunc":          "runs a worker, or the caller has called CheckedNow",
	"handoff.rescue":            "runs a worker",
	"timekeeper.spaceOut":       "the timekeeper",
	"timekeeper.driveOnce":      "the timekeeper",
	"timekeeper.spin":           "the timekeeper",
	"timekeeper.alarmFailed":    "the timekeeper, or the caller has called CheckedNow",
	"timekeeper.waitForAlarm":   "the timekeeper",
	"timekeeper.onWatchdog":     "the watchdog",
	"timekeeper.replaceBlocked": "the watchdog",
	"timekeeper.onPark":         "a standard timer",
	"Chan.fire":                 "a callback",
	"Expirer.takeDue":           "a callback",
	"Expirer.endPass":           "a callback",
	"ManualClock.Now":           "a manual clock shows the same time in all bubbles",
	"ManualClock.fireUntil":     "its goroutine and its channel are of one bubble",
	"ManualClock.armed":         "the caller has called CheckedNow; Advance may run in any bubble then",
	"ManualClock.newWaiter":     "calls checkWait",

	// They are called when the engine is made.
	"newEngine":           "the engine belongs to the bubble that it is made in",
	"goroutineGroup.init": "the engine belongs to the bubble that it is made in",

	// They are called on goroutines of the user.
	"Clock.checkedNowFake":   "this is the check",
	"Engine.Sleep":           "calls CheckedNowToBlock",
	"Queue.Wait":             "calls CheckedNowToBlock",
	"Runtime.NewChanTimer":   "Chan.Start calls CheckedNowToBlock",
	"Runtime.NewTicker":      "Chan.Start calls CheckedNowToBlock",
	"Runtime.withTimeout":    "context.WithDeadline calls CheckDeadline",
	"Runtime.withDeadline":   "context.WithDeadline calls CheckDeadline",
	"newSleeper":             "the caller has called CheckedNowToBlock",
	"Clock.NowTime":          "the time of the caller is the result",
	"timekeeper.notify":      "the caller has called CheckedNow, or the shard has an earlier deadline",
	"timekeeper.setAlarm":    "the caller has called CheckedNow",
	"timekeeper.setWatchdog": "the caller has called CheckedNow",
	"timekeeper.askToPark":   "calls foreign",
	"scrubber.start":         "calls foreign",
	"Shard.tell":             "only after a defect of the engine, to log it",
	"stdTimer.reset":         "the callers are in this list",
}

func TestFunctionsThatAForeignBubbleWouldBreakAreListed(t *testing.T) {
	found := map[string]bool{}
	var files []string
	for _, pattern := range []string{"../../internal/engine/*.go", "../../*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, names...)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "probe.go" {
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
			t.Errorf("%s reads the clock, sets a timer, starts a goroutine or makes a channel; "+
				"call CheckedNow first, or say in the list why it is correct without", f)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(sensitive)) {
		if !found[f] {
			t.Errorf("%s is in the list, but does none of these things", f)
		}
	}
}

// isSensitive reports whether a node reads the clock, sets a timer, starts a goroutine or makes a
// channel.
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
				return !ok || x.Sel.Name != "w" // w.Now is the tick of a wheel
			case "reset":
				return len(n.Args) == 1 // of a stdTimer
			case "Reset":
				x, ok := f.X.(*ast.IndexExpr)
				if !ok {
					return false
				}
				of, ok := x.X.(*ast.SelectorExpr)
				return ok && of.Sel.Name == "timers" // of a stdTimer
			}
		}
	}
	return false
}

// funcName returns the name of a function, or Type.Method.
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
