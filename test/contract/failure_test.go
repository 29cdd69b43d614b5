package contract_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

// makers are the calls that make a timer, with the error that each of them reports.
var makers = map[string]func(r *foliot.Runtime) error{
	"AfterFunc":    func(r *foliot.Runtime) error { _, err := r.AfterFunc(hour, func() {}); return err },
	"NewTimer":     func(r *foliot.Runtime) error { _, err := r.NewTimer(func() {}); return err },
	"Every":        func(r *foliot.Runtime) error { _, err := r.Every(hour, func() {}); return err },
	"NewTicker":    func(r *foliot.Runtime) error { _, err := r.NewTicker(hour); return err },
	"NewChanTimer": func(r *foliot.Runtime) error { _, err := r.NewChanTimer(hour); return err },
	"AfterFuncBatch": func(r *foliot.Runtime) error {
		_, err := r.AfterFuncBatch(nil, []foliot.Call{{After: hour, Func: func() {}}})
		return err
	},
	"Sleep": func(r *foliot.Runtime) error { return r.Sleep(context.Background(), hour) },
	"Expirer.Push": func(r *foliot.Runtime) error {
		_, err := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r}).Push(hour, 1)
		return err
	},
	"WithTimeout": func(r *foliot.Runtime) error {
		ctx, cancel := r.WithTimeout(context.Background(), hour)
		defer cancel()
		return context.Cause(ctx)
	},
	"WithDeadline": func(r *foliot.Runtime) error {
		ctx, cancel := r.WithDeadline(context.Background(), r.Now().Add(hour))
		defer cancel()
		return context.Cause(ctx)
	},
}

func TestEveryCallThatMakesATimerReportsWhyItCannot(t *testing.T) {
	closed, _ := kit.NewManual(t, foliot.Options{})
	kit.Shutdown(t, closed)
	full, _ := kit.NewManual(t, foliot.Options{MaxTimers: 1})
	kit.After(t, full, hour, func() {})
	for name, do := range makers {
		if err := do(closed); !errors.Is(err, foliot.ErrClosed) {
			t.Errorf("%s on a closed runtime reports %v, want ErrClosed", name, err)
		}
		if err := do(full); !errors.Is(err, foliot.ErrFull) {
			t.Errorf("%s on a full runtime reports %v, want ErrFull", name, err)
		}
	}
	if st := full.Stats(); st.Timers != 1 || st.Armed != 1 {
		t.Errorf("there are %d timers, %d of them armed, after calls that failed, want 1", st.Timers, st.Armed)
	}
}

func TestAnArgumentThatMakesNoSenseIsAnErrorThatSaysSo(t *testing.T) {
	r, _ := kit.NewManual(t, foliot.Options{})
	for name, do := range map[string]func() error{
		"AfterFunc(nil)":      func() error { _, err := r.AfterFunc(hour, nil); return err },
		"NewTimer(nil)":       func() error { _, err := r.NewTimer(nil); return err },
		"Every(nil)":          func() error { _, err := r.Every(hour, nil); return err },
		"Every(0)":            func() error { _, err := r.Every(0, func() {}); return err },
		"NewTicker(0)":        func() error { _, err := r.NewTicker(0); return err },
		"AfterFuncBatch(nil)": func() error { _, err := r.AfterFuncBatch(nil, []foliot.Call{{After: hour}}); return err },
		"Spawn(nil)":          func() error { _, err := r.Spawn(nil); return err },
		"SpawnIdle(nil)":      func() error { _, err := r.SpawnIdle(nil); return err },
		"Resize(0)":           func() error { return r.Resize(0) },
		"NewInterval(0)":      func() error { _, err := foliot.NewInterval(0, foliot.Skip); return err },
	} {
		if err := do(); err == nil || !strings.HasPrefix(err.Error(), "foliot: ") {
			t.Errorf("%s returns %v, want an error that begins with foliot:", name, err)
		}
	}
}
