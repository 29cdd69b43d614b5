package contract_test

import (
	"testing"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/wheel"
)

// expirerOf returns an Expirer with the values 1 and 2, which expire in an hour.
func (f *foreignTest) expirerOf(x *expiry) (e *foliot.Expirer[int], first wheel.Handle) {
	f.own(func(t *testing.T) {
		e = foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: f.rt, Expired: x.add})
		first = schedule(t, e, hour, 1)
		schedule(t, e, hour, 2)
	})
	return e, first
}

// wantExpirer checks that the Expirer works in its own place, unless that has ended, and closes it.
func (f *foreignTest) wantExpirer(e *foliot.Expirer[int], x *expiry) {
	f.own(func(t *testing.T) {
		if !f.ownEnded {
			was := len(x.list())
			schedule(t, e, brief, 100)
			f.within(t, "a value expires", func() bool { return len(x.list()) > was })
		}
		e.Close()
	})
}

// foreignExpirer returns a row for a call of a method, which must leave the Expirer working.
func foreignExpirer(name string, call func(t *testing.T, e *foliot.Expirer[int], h wheel.Handle)) foreignRow {
	return foreignRow{name, nil, func(f *foreignTest) {
		f.start()
		x := &expiry{}
		e, h := f.expirerOf(x)
		f.foreign(func(t *testing.T) { call(t, e, h) })
		f.wantExpirer(e, x)
	}}
}

var expirerRows = []foreignRow{
	{"NewExpirer", nil, func(f *foreignTest) {
		f.start()
		x := &expiry{}
		var e *foliot.Expirer[int]
		f.foreign(func(*testing.T) {
			e = foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: f.rt, Expired: x.add})
		})
		f.wantExpirer(e, x)
	}},
	foreignExpirer("Expirer.Schedule", func(t *testing.T, e *foliot.Expirer[int], _ wheel.Handle) {
		want := 3
		if _, err := e.Schedule(brief, 3); refused(t, "Schedule", err) {
			want = 2
		}
		if n := e.Len(); n != want {
			t.Errorf("Len returns %d, want %d", n, want)
		}
	}),
	foreignExpirer("Expirer.Reschedule", func(t *testing.T, e *foliot.Expirer[int], h wheel.Handle) {
		e.Reschedule(h, brief)
		if p := e.Value(h); p == nil || *p != 1 {
			t.Error("Reschedule has lost the value")
		}
	}),
	foreignExpirer("Expirer.Lookup", func(t *testing.T, e *foliot.Expirer[int], h wheel.Handle) {
		if v, left, ok := e.Lookup(h); ok && (v != 1 || left < hour-second || left > hour+second) {
			t.Errorf("Lookup returns %d, %v, want 1 and an hour", v, left)
		}
	}),
	foreignExpirer("Expirer.Cancel", func(t *testing.T, e *foliot.Expirer[int], h wheel.Handle) {
		if v, ok := e.Cancel(h); !ok || v != 1 {
			t.Errorf("Cancel returns %d, %t, want 1, true", v, ok)
		}
	}),
	foreignExpirer("Expirer.Value", func(t *testing.T, e *foliot.Expirer[int], h wheel.Handle) {
		if p := e.Value(h); p == nil || *p != 1 {
			t.Error("Value does not find the value")
		}
	}),
	foreignExpirer("Expirer.Numbered", func(t *testing.T, e *foliot.Expirer[int], h wheel.Handle) {
		if got, p := e.Numbered(h.Number()); got != h || p == nil || *p != 1 {
			t.Error("Numbered does not find the value")
		}
	}),
	foreignExpirer("Expirer.Len", func(t *testing.T, e *foliot.Expirer[int], _ wheel.Handle) {
		if n := e.Len(); n != 2 {
			t.Errorf("Len returns %d, want 2", n)
		}
	}),
	foreignExpirer("Expirer.All", func(t *testing.T, e *foliot.Expirer[int], _ wheel.Handle) {
		for h, v := range e.All() { // the last Cancel frees the timer
			if got, ok := e.Cancel(h); !ok || got != v {
				t.Errorf("Cancel returns %d, %t, want %d, true", got, ok, v)
			}
		}
	}),
	{"Expirer.Cancel, of many values", notEnded, func(f *foreignTest) {
		f.start()
		x := &expiry{}
		e, _ := f.expirerOf(x)
		f.own(func(t *testing.T) {
			for v := range 5000 {
				schedule(t, e, hour, v)
			}
		})
		f.foreign(func(*testing.T) {
			for h := range e.All() {
				e.Cancel(h)
			}
		})
		f.wantExpirer(e, x)
	}},
	{"Expirer.Close", nil, func(f *foreignTest) {
		f.start()
		e, _ := f.expirerOf(&expiry{})
		f.foreign(func(t *testing.T) {
			if n := e.Close(); n != 2 {
				t.Errorf("Close returns %d, want 2", n)
			}
		})
	}},
}
