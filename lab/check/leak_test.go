package check

import (
	"context"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
	dropin "github.com/foliot-go/foliot/time"
	"go.uber.org/goleak"
)

// Tests of users leave timers behind and check with goleak that no goroutine is left. Which states
// of a runtime have no goroutine is tested in test/contract. There a goroutine in a system call
// counts too, which goleak ignores.
func TestGoleakFindsNothingThatTestsOfUsersLeaveBehind(t *testing.T) {
	for name, use := range map[string]func(t *testing.T){
		"timers of the default runtime": func(t *testing.T) {
			kit.After(t, foliot.Default(), time.Hour, func() {})
			kit.After(t, foliot.Default(), 0, func() {})
		},
		"a runtime with nothing armed": func(t *testing.T) {
			r, err := foliot.New(foliot.Options{})
			if err != nil {
				t.Fatal(err)
			}
			kit.After(t, r, time.Hour, func() {}).Stop()
			kit.After(t, r, 0, func() {})
		},
		"a runtime after Shutdown": func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{})
			kit.After(t, r, time.Hour, func() {})
			kit.Shutdown(t, r)
		},
		"drop-in timers": func(*testing.T) {
			for _, d := range []time.Duration{time.Hour, 100 * time.Millisecond} {
				dropin.NewTimer(d)
				dropin.NewTicker(d)
				dropin.AfterFunc(d, func() {})
			}
			dropin.Sleep(time.Millisecond)
		},
		"a context": func(*testing.T) {
			_, cancel := foliot.Default().WithTimeout(context.Background(), time.Hour)
			_ = cancel // a test that forgets to call it
		},
	} {
		t.Run(name, func(t *testing.T) {
			use(t)
			goleak.VerifyNone(t)
		})
	}
}

func TestGoleakFindsTheGoroutineOfABlockedCallback(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	kit.After(t, foliot.Default(), 0, func() { close(started); <-release })
	<-started
	if err := goleak.Find(); err == nil {
		t.Error("goleak does not find the goroutine of the callback")
	}
	close(release)
	goleak.VerifyNone(t)
}
