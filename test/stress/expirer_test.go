package stress_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/wheel"
)

// An expirerLoad is an Expirer and what its users have seen.
type expirerLoad struct {
	t     *testing.T
	mu    sync.Locker // the lock of the Expirer if it is that of the program, otherwise one that does nothing
	e     *foliot.Expirer[queued]
	added atomic.Int64
	left  sync.Map // the numbers of the values that have left
	count atomic.Int64
	calls atomic.Int32 // calls of Expired that are running
	stop  atomic.Bool
}

type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

func (l *expirerLoad) take(v queued) {
	if _, again := l.left.LoadOrStore(v.n, true); again {
		l.t.Errorf("value %d has left twice", v.n)
	}
	l.count.Add(1)
}

func (l *expirerLoad) expired(values []queued) {
	if l.calls.Add(1) != 1 {
		l.t.Error("two calls of Expired overlap")
	}
	for _, v := range values {
		if early := time.Until(v.due); early > 0 {
			l.t.Errorf("a value expires %v early", early)
		}
		l.take(v)
	}
	if kit.Random(50) == 0 {
		time.Sleep(kit.Random(millisecond))
	}
	l.calls.Add(-1)
}

// use adds values and cancels and moves some, and from time to time all of its values.
func (l *expirerLoad) use() {
	var handles []wheel.Handle
	for !l.stop.Load() {
		d := kit.Random(3*millisecond) - millisecond/2
		v := queued{l.added.Add(1), time.Now().Add(d)}
		l.mu.Lock()
		h, err := l.e.Push(d, v)
		l.mu.Unlock()
		if err != nil {
			l.t.Error(err)
			return
		}
		handles = append(handles, h)
		h = handles[kit.Random(len(handles))]
		l.mu.Lock()
		switch kit.Random(6) {
		case 0:
			if v, ok := l.e.Remove(h); ok {
				l.take(v)
			}
		case 1:
			l.e.Reset(h, 4*millisecond) // later than before
		}
		l.mu.Unlock()
		if len(handles) == 3000 {
			for _, h := range handles {
				l.mu.Lock()
				if v, ok := l.e.Remove(h); ok {
					l.take(v)
				}
				l.mu.Unlock()
			}
			handles = handles[:0]
			time.Sleep(kit.Random(8 * millisecond)) // the Expirer may become idle
		}
	}
}

func TestAnExpirerUnderStressLosesNothing(t *testing.T) {
	for name, mu := range map[string]sync.Locker{"own lock": nil, "lock of the program": new(sync.Mutex)} {
		t.Run(name, func(t *testing.T) {
			eachVariant(t, 100*millisecond, func(t *testing.T, o foliot.Options, d time.Duration) {
				l := &expirerLoad{t: t, mu: mu}
				if mu == nil {
					l.mu = noLock{}
				}
				r := kit.NewRuntime(t, o)
				l.e = foliot.NewExpirer(foliot.ExpirerOptions[queued]{
					Runtime: r, Locker: mu, Expired: l.expired, Batch: 16, Resolution: 100 * microsecond,
				})
				var users sync.WaitGroup
				for range 4 {
					users.Go(l.use)
				}
				time.Sleep(d)
				l.stop.Store(true)
				users.Wait()
				testkit.Eventually(t, "all values have left", func() bool { return l.count.Load() == l.added.Load() })
				testkit.Eventually(t, "no timer is left", func() bool { return r.Stats().Timers == 0 })
			})
		})
	}
}

func TestCloseUnderStressSaysWhatIsLeft(t *testing.T) {
	for end := time.Now().Add(testkit.StressTime(t, 200*millisecond)); time.Now().Before(end); {
		r := kit.NewRuntime(t, foliot.Options{Workers: 2})
		var expired atomic.Int64
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{
			Runtime: r, Batch: 4, Resolution: microsecond,
			Expired: func(values []int) { expired.Add(int64(len(values))) },
		})
		const n = 300
		for i := range n {
			if _, err := e.Push(kit.Random(millisecond), i); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(kit.Random(millisecond))
		e.Close()
		left := e.Len()
		kit.Shutdown(t, r) // waits for a call of Expired that is running
		if got := int(expired.Load()); got+left != n || e.Len() != left {
			t.Fatalf("%d values have expired and %d were left by Close, want %d in all; now %d are left", got, left, n, e.Len())
		}
	}
}
