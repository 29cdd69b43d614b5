package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func newHub(t *testing.T, o Options) *Hub {
	t.Helper()
	if o.Keep == 0 {
		o.Keep = 8
	}
	if o.KeepBytes == 0 {
		o.KeepBytes = 1 << 20
	}
	if o.Listeners == 0 {
		o.Listeners = 10_000
	}
	if o.Beat == 0 {
		o.Beat = time.Hour
	}
	h := New(o)
	t.Cleanup(h.Close)
	return h
}

// publish publishes an event whose frame is its number.
func publish(h *Hub, kind string) (id uint64) {
	h.Publish(kind, func(n uint64) []byte {
		id = n
		return strconv.AppendUint(nil, n, 10)
	})
	return id
}

// collect reads until a listener has n events.
func collect(t *testing.T, l *Listener, n int) (ids []string, missed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for len(ids) < n {
		frames, m, err := l.Next(ctx)
		if err != nil {
			t.Fatalf("%v after %v", err, ids)
		}
		missed = missed || m != (Gap{})
		for _, f := range frames {
			ids = append(ids, string(f))
		}
	}
	return ids, missed
}

func listen(t *testing.T, h *Hub, kind string, after uint64, resume bool) *Listener {
	t.Helper()
	l, err := h.Listen(kind, after, resume)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEventsOfAKind(t *testing.T) {
	h := newHub(t, Options{})
	publish(h, "before")
	all, some := listen(t, h, "", 0, false), listen(t, h, "b", 0, false)
	a, b := publish(h, "a"), publish(h, "b")
	if ids, _ := collect(t, all, 2); fmt.Sprint(ids) != fmt.Sprint([]uint64{a, b}) {
		t.Error(ids)
	}
	if ids, _ := collect(t, some, 1); fmt.Sprint(ids) != fmt.Sprint([]uint64{b}) {
		t.Error(ids)
	}
	all.Leave()
	some.Leave()
	if n := h.Listeners(); n != 0 {
		t.Errorf("%d listeners", n)
	}
}

func TestResume(t *testing.T) {
	h := newHub(t, Options{Keep: 4})
	var ids []uint64
	for range 6 {
		ids = append(ids, publish(h, "k"))
	}
	for _, tt := range []struct {
		after  uint64
		first  int
		missed bool
	}{
		{ids[3], 4, false}, {ids[1], 2, false}, {ids[0], 2, true}, {1, 2, true}, {0, 2, false}, {ids[5] + 1, 2, true}, {1<<64 - 1, 2, true},
	} {
		l := listen(t, h, "", tt.after, true)
		got, missed := collect(t, l, 6-tt.first)
		if got[0] != strconv.FormatUint(ids[tt.first], 10) || missed != tt.missed {
			t.Errorf("after %d: %v, missed %v", tt.after, got, missed)
		}
		l.Leave()
	}
}

func TestTheLastEventsComeAfterANumber(t *testing.T) {
	h := newHub(t, Options{Keep: 4})
	if got, want := h.Before(2), h.next-1; got != want {
		t.Errorf("without events the number is %d, want %d", got, want)
	}
	first := publish(h, "k")
	if got := h.Before(2); got != first-1 {
		t.Errorf("after one event the number is %d, want %d", got, first-1)
	}
	var last uint64
	for range 9 {
		last = publish(h, "k")
	}
	for n, want := range map[int]uint64{0: last, 2: last - 2, 4: last - 4, 5: last - 4, 1000: last - 4} {
		if got := h.Before(n); got != want {
			t.Errorf("the number before %d events is %d, want %d", n, got, want)
		}
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	h := newHub(t, Options{Keep: 100, KeepBytes: 1000})
	for range 1000 {
		h.Publish("", func(uint64) []byte { return []byte(strings.Repeat("x", 300)) })
	}
	if kept := h.next - h.first; kept != 3 || h.bytes != 900 {
		t.Errorf("%d events of %d bytes", kept, h.bytes)
	}
	h.Publish("", func(uint64) []byte { return make([]byte, 5000) })
	if kept := h.next - h.first; kept != 1 || h.bytes != 5000 {
		t.Errorf("%d events of %d bytes", kept, h.bytes)
	}
}

// A listener that does not read misses events, and publishing does not wait for it.
func TestASlowListenerMissesEvents(t *testing.T) {
	h := newHub(t, Options{Keep: 4})
	l := listen(t, h, "", 0, false)
	var last uint64
	for range 1000 {
		last = publish(h, "")
	}
	ids, missed := collect(t, l, 4)
	if !missed || ids[3] != strconv.FormatUint(last, 10) {
		t.Errorf("%v, missed %v", ids, missed)
	}
}

func TestTheEndOfAHub(t *testing.T) {
	h := newHub(t, Options{Listeners: 1, Beat: 5 * time.Millisecond})
	l := listen(t, h, "none", 0, false)
	if _, err := h.Listen("", 0, false); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if frames, missed, err := l.Next(t.Context()); len(frames) != 0 || missed != (Gap{}) || err != nil {
		t.Error("a beat has events:", frames, err)
	}
	publish(h, "none")
	h.Close()
	h.Close()
	collect(t, l, 1) // what was published before is still there
	if _, _, err := l.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := h.Listen("", 0, false); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other := listen(t, newHub(t, Options{}), "", 0, false)
	for err := error(nil); !errors.Is(err, context.Canceled); _, _, err = other.Next(ctx) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Each of many listeners gets all events in order, while others come and go.
func TestManyListeners(t *testing.T) {
	const listeners, events = 1000, 200
	h := newHub(t, Options{Keep: events})
	var wg sync.WaitGroup
	for range listeners {
		l := listen(t, h, "", 0, false)
		wg.Go(func() {
			defer l.Leave()
			next := l.next
			for n := 0; n < events; {
				frames, missed, err := l.Next(context.Background())
				if err != nil || missed != (Gap{}) {
					t.Errorf("missed %v, %v", missed, err)
					return
				}
				for _, f := range frames {
					if string(f) != strconv.FormatUint(next, 10) {
						t.Errorf("event %s, want %d", f, next)
						return
					}
					next++
					n++
				}
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			l, err := h.Listen("x", 0, false)
			if err != nil {
				t.Error(err)
				return
			}
			l.Leave()
		}
	})
	for range events {
		publish(h, "k")
	}
	wg.Wait()
	if n := h.Listeners(); n != 0 {
		t.Errorf("%d listeners", n)
	}
}
