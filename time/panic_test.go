package time_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	std "time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

func TestPanicsHaveTheTextsOfTheStandardPackage(t *testing.T) {
	for name, do := range map[string]struct{ own, other func() }{
		"Stop of a zero Timer":                 {func() { new(time.Timer).Stop() }, func() { new(std.Timer).Stop() }},
		"Reset of a zero Timer":                {func() { new(time.Timer).Reset(1) }, func() { new(std.Timer).Reset(1) }},
		"Stop of a Timer with a channel alone": {func() { stopFake() }, func() { stopStandardFake() }},
		"Stop of a nil Timer":                  {func() { (*time.Timer)(nil).Stop() }, func() { (*std.Timer)(nil).Stop() }},
		"Reset of a nil Timer":                 {func() { (*time.Timer)(nil).Reset(1) }, func() { (*std.Timer)(nil).Reset(1) }},
	} {
		own, other := panicOf(do.own), panicOf(do.other)
		if own != other || own == "" {
			t.Errorf("%s panics with %q, want %q", name, own, other)
		}
	}
}

func stopFake() { (&time.Timer{C: make(chan time.Time)}).Stop() }

func stopStandardFake() { (&std.Timer{C: make(chan time.Time)}).Stop() }

// Go's own benchmarks pass nil to AfterFunc and stop the timer, so that must not panic.
func TestANilFunctionPanicsWithAdviceWhenItsTimerExpires(t *testing.T) {
	if os.Getenv("AFTERFUNC_NIL") != "" {
		time.AfterFunc(time.Millisecond, nil)
		std.Sleep(testkit.Timeout)
		return
	}
	if timer := time.AfterFunc(time.Hour, nil); !timer.Stop() {
		t.Error("Stop of a timer with a nil function returns false")
	}
	cmd := exec.Command(os.Args[0], "-test.run="+t.Name())
	cmd.Env = append(os.Environ(), "AFTERFUNC_NIL=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: time: a Timer of AfterFunc with a nil function has expired; pass the function") {
		t.Errorf("the program ends with %v, want a panic with advice:\n%s", err, out)
	}
}

// The user may change C. The package still uses the standard timer's channel.
func TestAChannelThatTheUserAssignsToCIsNotUsed(t *testing.T) {
	timer := time.NewTimer(time.Hour)
	own, assigned := timer.C, make(chan time.Time, 3)
	assigned <- time.Now()
	timer.C = assigned
	timer.Reset(time.Millisecond)
	testkit.Receive(t, own, "the timer's own channel")
	timer.C = nil
	timer.Stop()
	if len(assigned) != 1 {
		t.Errorf("there are %d values in the user's channel, want 1", len(assigned))
	}
}

func TestTimersCanBeCompared(t *testing.T) {
	timer := time.AfterFunc(time.Hour, func() {})
	defer timer.Stop()
	if same := *timer; *timer == *new(time.Timer) || *timer != same {
		t.Error("a Timer is equal to the zero Timer, or not equal to its copy")
	}
}
