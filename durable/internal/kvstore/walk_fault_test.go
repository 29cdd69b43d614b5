package kvstore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/testkit"
)

// A fault is a mistake that is planted into a store, to test that the walk finds it.
type fault int

const (
	sound             fault = iota
	schedulesEarly          // Schedule returns before its change is kept
	cancelsEarly            // so does Cancel that returns true
	refusesEarly            // so does Cancel that returns false
	existsEarly             // so does Schedule that returns an error
	getsEarly               // so does Get
	firesEarly              // a handler is called before the record of it is kept
	endsAny                 // the end of an attempt does not look at the revision
	forgetsWake             // the watcher is not told of the next attempt
	forgetsRunning          // an occurrence that is being handled is taken for one that a crash has cut off
	forgetsRevs             // revisions begin anew after a crash
	forgetsAttempt          // the number of the attempt is not kept
	cancelsHandled          // the table allows Cancel while a handler runs
	refusesRetrying         // the table refuses Cancel between attempts
	endsFailed              // the table ends a timer whose handler has failed
	keepsDone               // the table keeps a timer whose handler is done
	endsSeries              // the table ends a series with an occurrence that is done
	refusesSeries           // the table refuses Cancel of a series while an occurrence is handled
	ignoresConditions       // Schedule ignores conditions
	countsPostponed         // an attempt that was postponed counts
	endsPostponed           // the table ends a timer that was postponed
	endsAnySeries           // a handler ends a series that has replaced its own
	endsInTimeOnly          // a handler does not end its series after the next occurrence has fired
	faults
)

// wrongMoves are the faults of the table.
var wrongMoves = map[fault]struct {
	s  moves.State
	e  moves.Event
	to moves.State
}{
	cancelsHandled:  {moves.Handling, moves.Cancel, moves.None},
	refusesRetrying: {moves.Retrying, moves.Cancel, moves.Illegal},
	endsFailed:      {moves.Handling, moves.Again, moves.None},
	endsPostponed:   {moves.Handling, moves.Postpone, moves.None},
	keepsDone:       {moves.Handling, moves.Done, moves.Handling},
	endsSeries:      {moves.ArmedHandling, moves.Done, moves.None},
	refusesSeries:   {moves.ArmedHandling, moves.Cancel, moves.Illegal},
}

// faulty is a store with a fault.
type faulty struct {
	spy
	fault     fault
	finishing *atomic.Bool // Finish is running
}

// plant returns a store with the fault.
func (f fault) plant(s spy) durable.Store {
	if f == sound {
		return s
	}
	if f == forgetsRevs && s.life > 0 {
		s.Store.rev.Store(0)
	}
	return faulty{s, f, new(atomic.Bool)}
}

func (s faulty) Schedule(ctx context.Context, ts []durable.Timer, c durable.Condition) ([]uint64, error) {
	if s.fault == ignoresConditions {
		c = durable.Condition{}
	}
	if s.fault != schedulesEarly && s.fault != existsEarly {
		return s.spy.Schedule(ctx, ts, c)
	}
	op := s.begin(ts[0].ID)
	revs, err := op.schedule(ts, c)
	wait := op.commit().wait
	if err != nil == (s.fault == existsEarly) {
		return revs, err
	}
	return revs, or(wait(), err)
}

func (s faulty) Cancel(ctx context.Context, id string, c durable.Condition) (bool, error) {
	if s.fault != cancelsEarly && s.fault != refusesEarly {
		return s.spy.Cancel(ctx, id, c)
	}
	op := s.begin(id)
	ok, err := op.cancel(id, c)
	wait := op.commit().wait
	if ok == (s.fault == cancelsEarly) {
		return ok, err
	}
	return ok, or(wait(), err)
}

func (s faulty) Get(ctx context.Context, id string) (durable.Timer, bool, error) {
	if s.fault != getsEarly {
		return s.spy.Get(ctx, id)
	}
	op := s.begin(id)
	t, ok, err := op.get(id)
	op.commit()
	return t, ok, err
}

func or(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (s faulty) Fire(ids []string, r durable.Rules) (durable.Fired, error) {
	fired, err := s.spy.Fire(ids, r)
	if err != nil || len(fired.Fires) == 0 {
		return fired, err
	}
	f := fired.Fires[0]
	switch s.fault {
	case firesEarly:
		fired.Wait = func() error { return nil }
	case forgetsRunning:
		if f.Attempt == 1 {
			op := s.begin(f.ID)
			delete(s.stripe(f.ID).running, attempt{f.ID, f.Rev})
			op.wakes = append(op.wakes, durable.Wake{ID: f.ID, At: time.Now().Add(time.Second / 2).UnixNano()})
			op.commit()
		}
	case forgetsAttempt:
		op := s.begin(f.ID)
		old, _ := op.read(f.ID)
		next := old
		next.Occurrence.Attempt = 0
		op.write(f.ID, &old, &next, nil, false)
		op.commit()
	}
	return fired, err
}

func (s faulty) Finish(f durable.Fire, end durable.End) (bool, func() error, error) {
	switch s.fault {
	case endsAny:
		op := s.begin(f.ID)
		if r, _ := op.read(f.ID); r.State.IsHandling() {
			f.Rev = r.Occurrence.Rev
		}
		op.end()
	case countsPostponed:
		if end.How == durable.Postponed {
			end.How = durable.Again
		}
	case endsAnySeries, endsInTimeOnly:
		s.changeSeries(f)
	case forgetsWake:
		s.finishing.Store(true)
		defer s.finishing.Store(false)
	}
	return s.spy.Finish(f, end)
}

// changeSeries changes the revision with which the series of a timer began.
func (s faulty) changeSeries(f durable.Fire) {
	op := s.begin(f.ID)
	old, _ := op.read(f.ID)
	next := old
	if next.Series = 0; s.fault == endsInTimeOnly {
		next.Series = next.Rev
	}
	if old.Series != 0 {
		op.write(f.ID, &old, &next, nil, false)
	}
	op.commit()
}

func (s faulty) Watch(w durable.Watcher) (func(), error) {
	return s.spy.Watch(deaf{w, s.finishing})
}

// deaf is a watcher that is not told of what Finish decides if a fault says so.
type deaf struct {
	durable.Watcher
	finishing *atomic.Bool
}

func (d deaf) Wake(w durable.Wake) {
	if !d.finishing.Load() {
		d.Watcher.Wake(w)
	}
}

// find returns the first error that the walk finds in some scenarios.
func (f fault) find(t *testing.T, scenarios ...scenario) error {
	if m, ok := wrongMoves[f]; ok {
		right := moves.Table
		defer func() { moves.Table = right }()
		moves.Table[m.s][m.e] = m.to
	}
	for _, c := range scenarios {
		if _, err := c.walk(t, f); err != nil {
			return err
		}
	}
	return nil
}

func TestTheWalkFindsEveryPlantedFault(t *testing.T) {
	testkit.SkipUnderRace(t, "one goroutine runs at a time")
	actors := func(scripts ...interleave.Script) []interleave.Script { return scripts }
	scenarios := [faults]scenario{
		schedulesEarly:    {actors: actors("s"), crashes: 1},
		cancelsEarly:      {before: "s", actors: actors("c"), crashes: 1},
		refusesEarly:      {before: "s", actors: actors("c"), clock: 1, crashes: 1},
		existsEarly:       {actors: actors("s", "S"), crashes: 1},
		getsEarly:         {actors: actors("s", "g"), crashes: 1},
		firesEarly:        {before: "s", clock: 1, crashes: 1},
		endsAny:           {before: "s", actors: actors("s"), clock: 2, results: "fd"},
		forgetsWake:       {before: "s", clock: 1, results: "f"},
		forgetsRunning:    {before: "s", clock: 2},
		forgetsRevs:       {before: "s", actors: actors("s"), crashes: 1},
		forgetsAttempt:    {before: "s", clock: 2, results: "f"},
		cancelsHandled:    {before: "s", actors: actors("c"), clock: 1},
		refusesRetrying:   {before: "s", actors: actors("c"), clock: 1, results: "f"},
		endsFailed:        {before: "s", clock: 1, results: "f"},
		keepsDone:         {before: "s", clock: 1},
		endsSeries:        {before: "p", clock: 1},
		refusesSeries:     {before: "p", actors: actors("c"), clock: 1},
		ignoresConditions: {before: "s", actors: actors("S"), clock: 0},
		countsPostponed:   {before: "s", clock: 2, results: "p"},
		endsPostponed:     {before: "s", clock: 1, results: "p"},
		endsAnySeries:     {before: "q", actors: actors("q"), clock: 2, results: "e"},
		endsInTimeOnly:    {before: "q", clock: 2, results: "e"},
	}
	for f := sound + 1; f < faults; f++ {
		if err := sound.find(t, scenarios[f]); err != nil {
			t.Errorf("the walk finds an error without a fault: %v", err)
		}
		if err := f.find(t, scenarios[f]); err == nil {
			t.Errorf("the walk does not find fault %d in %v", f, scenarios[f])
		}
	}
}
