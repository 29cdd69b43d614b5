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
	"worker.serve":              "runs a worker",
	"worker.call":               "runs a worker",
	"worker.finishAbnormal":     "runs a worker, or a callback on its own goroutine",
	"worker.runSpawnedOnce":     "runs a callback",
	"Turn.Ended":                "runs an item",
	"Turn.endGroup":             "runs an item",
	"worker.delegate":           "runs a worker",
	"worker.linger":             "runs a worker",
	"worker.spawn":              "runs a worker",
	"worker.callGoFor":          "runs a worker",
	"worker.callGo":             "runs a worker",
	"worker.startCaller":        "runs a worker, or the watchdog",
	"runMode.restart":           "runs a worker",
	"Engine.startFunc":          "runs a worker, or the caller has called Enter",
	"handoff.rescue":            "runs a worker, or a cleanup",
	"handoffs.add":              "runs a worker, and calls sweeps",
	"handoffs.releaseOld":       "a standard timer",
	"timekeeper.spaceOut":       "the timekeeper",
	"timekeeper.driveOnce":      "the timekeeper",
	"timekeeper.spin":           "the timekeeper",
	"timekeeper.dispatch":       "the timekeeper",
	"timekeeper.alarmFailed":    "the timekeeper, or the caller has called Enter",
	"timekeeper.waitForAlarm":   "the timekeeper",
	"timekeeper.onWatchdog":     "the watchdog",
	"timekeeper.replaceBlocked": "the watchdog",
	"timekeeper.runOverdue":     "the watchdog",
	"scrubber.onTimer":          "a standard timer",
	"reaper.sweep":              "a cleanup",
	"tasks.spawn":               "runs a task",
	"Expirer.pass":              "a callback",
	"Expirer.endPass":           "a callback",
	"ManualClock.Now":           "a manual clock shows the same time in all bubbles",
	"ManualClock.advanceTo":     "its goroutine and its channel are of one bubble",

	// They are called when the engine is made.
	"New":                 "the engine belongs to the bubble that it is made in",
	"goroutineGroup.open": "the engine belongs to the bubble that it is made in",
	"stdTimer.open":       "the engine belongs to the bubble that it is made in",

	// They are called on goroutines of the user.
	"Clock.enterFake":        "this is the check",
	"Clock.spinFor":          "the caller has called Enter",
	"Queue.Wait":             "calls EnterToWait",
	"Runtime.NewChanTimer":   "Chan.Start calls EnterToWait",
	"Runtime.NewTicker":      "Chan.Start calls EnterToWait",
	"Runtime.withTimeout":    "context.WithDeadline calls Refusal",
	"Runtime.withDeadline":   "context.WithDeadline calls Refusal",
	"newSleeper":             "the caller has called EnterToWait",
	"Clock.Wall":             "the time of the caller is the result",
	"timekeeper.notify":      "the caller has called Enter, or the shard has an earlier deadline",
	"timekeeper.setAlarm":    "the caller has called Enter",
	"timekeeper.setWatchdog": "the caller has called Enter",
	"timekeeper.startWorker": "calls Enter",
	"scrubber.start":         "calls foreign",
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
				"call Enter first, or say in the list why it is correct without", f)
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
