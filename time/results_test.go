package time_test

import (
	"slices"
	"sync"
	"testing"
	std "time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

// The results of Stop and Reset of a timer with a channel depend on whether the value was received,
// not on whether the timer has expired. So a script always has the same results. Each letter is a
// step:
//
//	s      stop the timer
//	z e l  reset it to 0, to a short time, to a long time
//	w      wait until it has expired, if it was armed for a short time
//	r      receive the value
func TestStopAndResetReturnTheSameAsInTheStandardPackage(t *testing.T) {
	type timer interface {
		Stop() bool
		Reset(d time.Duration) bool
	}
	runScript := func(script string, tm timer, c <-chan time.Time) (results []bool) {
		for _, op := range script {
			switch op {
			case 's':
				results = append(results, tm.Stop())
			case 'z':
				results = append(results, tm.Reset(0))
			case 'e':
				results = append(results, tm.Reset(2*time.Millisecond))
			case 'l':
				results = append(results, tm.Reset(time.Hour))
			case 'w':
				std.Sleep(10 * time.Millisecond)
			case 'r':
				testkit.Receive(t, c, script)
			}
		}
		return append(results, tm.Stop())
	}
	var wg sync.WaitGroup
	for _, script := range []string{
		"", "s", "ss", "l", "ll", "ls", "sl", "sls", "w", "ws", "wss", "wl", "wls", "zs", "zl",
		"zr", "zrs", "zz", "zzr", "sz", "szs", "szr", "szrs", "zls", "ezs", "ew", "er", "ers",
		"erw", "lew", "ler", "lerz", "sew", "ser", "sers", "sewl", "erewr", "erewl", "erlsz",
	} {
		for _, d := range []time.Duration{0, -1, 2 * time.Millisecond, time.Hour} {
			wg.Go(func() {
				own, other := time.NewTimer(d), std.NewTimer(d)
				got, want := runScript(script, own, own.C), runScript(script, other, other.C)
				if !slices.Equal(got, want) {
					t.Errorf("NewTimer(%v), %q: the results are %v, want %v", d, script, got, want)
				}
			})
		}
	}
	wg.Wait()
}

func TestStopOfAFunctionReportsWhetherItWasArmed(t *testing.T) {
	ran := make(chan int, 10)
	timer := time.AfterFunc(time.Hour, func() { ran <- 1 })
	if timer.C != nil {
		t.Error("C of a timer of AfterFunc is not nil")
	}
	if !timer.Stop() || timer.Stop() || timer.Reset(time.Hour) || !timer.Reset(time.Hour) {
		t.Error("Stop, Stop, Reset, Reset do not return true, false, false, true")
	}
	if !timer.Reset(time.Millisecond) {
		t.Error("Reset of an armed timer returns false")
	}
	testkit.Receive(t, ran, "the function")
	if timer.Stop() || timer.Reset(0) {
		t.Error("Stop or Reset after the function was started returns true")
	}
	testkit.Receive(t, ran, "the function after Reset(0)")
	if timer.Reset(-1) {
		t.Error("Reset after the function was started returns true")
	}
	testkit.Receive(t, ran, "the function after Reset(-1)")
	wantEmpty(t, ran, "another call of the function")
}
