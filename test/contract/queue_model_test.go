package contract_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/wheel"
)

// A queueModel is a queue in its simplest form beside a real one: a list of values that is sorted
// when it is needed.
type queueModel struct {
	t       *testing.T
	rng     *rand.Rand
	clock   *foliot.ManualClock
	q       *foliot.Queue[int]
	values  []modelValue
	handles []wheel.Handle // of all values that were ever pushed; a value is an index
	order   int            // how many values were pushed or reset
}

type modelValue struct {
	at    time.Time
	order int
	v     int
}

func (m *queueModel) sort() {
	slices.SortFunc(m.values, func(a, b modelValue) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.order, b.order))
	})
}

// indexOf returns the index of a value in the list, or -1.
func (m *queueModel) indexOf(v int) int {
	return slices.IndexFunc(m.values, func(e modelValue) bool { return e.v == v })
}

// delay returns a delay, often a negative one. Some deadlines are equal, others far away.
func (m *queueModel) delay() time.Duration {
	d := time.Duration(m.rng.IntN(41)-20) * second
	return d << (m.rng.IntN(3) * m.rng.IntN(10))
}

// step performs a random operation on both queues and compares the results.
func (m *queueModel) step() {
	m.sort()
	now := m.clock.Now()
	switch m.rng.IntN(10) {
	case 0, 1, 2:
		d := m.delay()
		v := len(m.handles)
		if m.rng.IntN(2) == 0 {
			m.handles = append(m.handles, push(m.t, m.q, d, v))
		} else {
			m.handles = append(m.handles, pushAt(m.t, m.q, now.Add(d), v))
		}
		m.order++
		m.values = append(m.values, modelValue{now.Add(d), m.order, v})
	case 3:
		m.reset()
	case 4:
		m.remove()
	case 5:
		due := 0
		for due < len(m.values) && !m.values[due].at.After(now) {
			due++
		}
		m.wantFirst("TryWait", try(m.q, m.rng.IntN(6)), due)
	case 6:
		at, v, ok := m.q.Peek()
		if ok != (len(m.values) > 0) || ok && (v != m.values[0].v || !at.Equal(m.values[0].at)) {
			m.t.Fatalf("Peek returns %v, %d, %t, want the first of %v", at, v, ok, m.values)
		}
	case 7:
		if m.rng.IntN(5) == 0 {
			m.wantFirst("Drain", drain(m.q, 1+m.rng.IntN(8)), len(m.values))
		}
	case 8:
		m.all()
	case 9:
		m.clock.Advance(time.Duration(m.rng.IntN(20)) * second)
	}
	if m.q.Len() != len(m.values) {
		m.t.Fatalf("Len is %d, want %d", m.q.Len(), len(m.values))
	}
}

// wantFirst checks that an operation has removed the first values. At most limit may be removed.
func (m *queueModel) wantFirst(what string, got []int, limit int) {
	if len(got) > limit {
		m.t.Fatalf("%s returns %v, want at most %d values", what, got, limit)
	}
	for i, v := range got {
		if v != m.values[i].v {
			m.t.Fatalf("%s returns %v, want the first of %v", what, got, m.values)
		}
	}
	m.values = m.values[len(got):]
}

func (m *queueModel) reset() {
	if len(m.handles) == 0 {
		return
	}
	v, d := m.rng.IntN(len(m.handles)), m.delay()
	i := m.indexOf(v)
	if got := m.q.Reset(m.handles[v], d); got != (i >= 0) {
		m.t.Fatalf("Reset returns %t, but the value is at %d", got, i)
	}
	if i >= 0 {
		m.order++
		m.values[i].at, m.values[i].order = m.clock.Now().Add(d), m.order
	}
}

func (m *queueModel) remove() {
	if len(m.handles) == 0 {
		return
	}
	v := m.rng.IntN(len(m.handles))
	i := m.indexOf(v)
	if got, ok := m.q.Remove(m.handles[v]); ok != (i >= 0) || ok && got != v {
		m.t.Fatalf("Remove of %d returns %d, %t, but the value is at %d", v, got, ok, i)
	}
	if i >= 0 {
		m.values = slices.Delete(m.values, i, i+1)
	}
}

func (m *queueModel) all() {
	yields := 0
	for at, v := range m.q.All() {
		if i := m.indexOf(v); i < 0 || !m.values[i].at.Equal(at) {
			m.t.Fatalf("All yields %v, %d, which is at %d of %v", at, v, i, m.values)
		}
		yields++
	}
	if yields != len(m.values) {
		m.t.Fatalf("All yields %d values, want %d", yields, len(m.values))
	}
}

func TestRandomOperationsOnAQueueGiveTheResultsOfASortedList(t *testing.T) {
	testkit.SkipUnderRace(t, "there is one goroutine")
	for seed := range uint64(60) {
		r, clock := kit.NewManual(t, foliot.Options{})
		m := &queueModel{
			t: t, rng: rand.New(rand.NewPCG(seed, 1)), clock: clock, q: foliot.NewQueue[int](r),
		}
		for range 500 {
			m.step()
		}
	}
}
