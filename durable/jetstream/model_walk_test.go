package jetstream_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/foliot-go/foliot/durable/internal/moves"
	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/testkit"
)

// check returns an error if a state is wrong.
func (m model) check(w *world) error { return errWrong[w.wrong] }

// final returns an error if a state in which nothing more happens is wrong.
func (m model) final(w *world) error {
	for p := range w.ps {
		is := &w.ps[p]
		if is.alive && (int(is.call.next) < len(m.scripts[p]) || is.attempt.phase != idle) {
			return fmt.Errorf("%w: %+v", errWrong[stuck], is)
		}
	}
	if s := w.record.state; s != moves.None && (s != moves.Armed || !w.record.every) {
		return fmt.Errorf("%w: %+v", errWrong[forgotten], w.record)
	}
	return nil
}

// walk visits all states of a model. It returns how many there are, and the first error.
func (m model) walk() (int, error) {
	n, err := interleave.Explore(m.begin(), m.steps, m.check, m.final)
	if err != nil {
		err = fmt.Errorf("%v: %w", m, err)
	}
	return n, err
}

// walkModels visits the states of models, or of some of them with -short. It uses all processors, so it is not
// for parallel tests: others look at the clock.
func walkModels(t *testing.T, models []model) {
	testkit.SkipUnderRace(t, "it is one goroutine")
	stride := 1
	if testing.Short() {
		stride = 29
	}
	var next, states, walked atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for !t.Failed() {
				i := int(next.Add(1)-1) * stride
				if i >= len(models) {
					return
				}
				n, err := models[i].walk()
				if err != nil {
					t.Error(err)
				}
				states.Add(int64(n))
				walked.Add(1)
			}
		})
	}
	all.Wait()
	t.Logf("%d states of %d models", states.Load(), walked.Load())
}

// troubles are what may happen to the processes and the messages.
var troubles = []budget{
	{},
	{failures: 1},
	{deaths: 1},
	{crashes: 1},
	{crashes: 1, restarts: 1},
	{losses: 1},
	{repeats: 1},
	{behinds: 1},
	{gaps: 1},
	{silences: 1},
	{timeouts: 1},
	{losses: 1, timeouts: 1},
	{repeats: 1, timeouts: 1},
	{crashes: 1, failures: 1},
	{postpones: 1},
	{crashes: 1, postpones: 1},
}

func TestWalkOfOneCall(t *testing.T) {
	var all []model
	for _, b := range troubles {
		for _, script := range interleave.Scripts("cCRg", 1) {
			all = append(all, model{before: 's', scripts: [2]interleave.Script{script}, budget: b})
		}
		b.ticks = 1
		all = append(all, model{before: 'p', scripts: [2]interleave.Script{"c"}, budget: b})
	}
	walkModels(t, all)
}

// TestWalkOfAPostponedAttempt visits the states of attempts that are postponed, while they are taken over by another
// process, or their messages are lost or sent twice. So a number is given to more than one attempt.
func TestWalkOfAPostponedAttempt(t *testing.T) {
	var all []model
	for _, b := range []budget{
		{silences: 1, postpones: 1}, {losses: 1, postpones: 2}, {repeats: 1, postpones: 2}, {timeouts: 1, postpones: 2},
	} {
		all = append(all, model{before: 's', budget: b})
	}
	walkModels(t, all)
}

// TestWalkOfASeriesThatAHandlerEnds visits the states of a series that a handler ends, also after the next occurrence
// has fired.
func TestWalkOfASeriesThatAHandlerEnds(t *testing.T) {
	var all []model
	for _, b := range []budget{{}, {failures: 1}, {crashes: 1}, {losses: 1}, {repeats: 1}, {behinds: 1}, {silences: 1}, {timeouts: 1}} {
		b.ends = 1
		for _, script := range []interleave.Script{"", "c", "p"} {
			m := model{before: 'p', scripts: [2]interleave.Script{script}, budget: b}
			if m.budget.ticks = 1; script == "" {
				m.budget.ticks = 2
			}
			all = append(all, m)
		}
	}
	walkModels(t, all)
}

// TestWalkOfManyStates visits the states of models that have very many.
func TestWalkOfManyStates(t *testing.T) {
	testkit.OnlyInFull(t, "the walk of models with very many states")
	var all []model
	for _, b := range troubles {
		for _, script := range interleave.Scripts("sS", 1) {
			all = append(all, model{before: 's', scripts: [2]interleave.Script{script}, budget: b})
		}
		for _, script := range interleave.Scripts("cCSg", 1) {
			all = append(all, model{scripts: [2]interleave.Script{"s", script}, budget: b})
		}
		b.ticks = 1
		all = append(all, model{before: 'p', scripts: [2]interleave.Script{"s"}, budget: b})
	}
	all = append(all, model{before: 's', scripts: [2]interleave.Script{"c"}, budget: budget{silences: 1, postpones: 1}})
	walkModels(t, all)
}

func TestWalkOfTwoCalls(t *testing.T) {
	all := []model{{scripts: [2]interleave.Script{"sc"}}}
	for _, a := range interleave.Scripts("cCRg", 1) {
		for _, b := range interleave.Scripts("cCg", 1) {
			all = append(all, model{before: 's', scripts: [2]interleave.Script{a, b}})
		}
		all = append(all, model{scripts: [2]interleave.Script{"s", a}})
	}
	all = append(all,
		model{before: 'p', scripts: [2]interleave.Script{"c", "c"}, budget: budget{ticks: 1}},
		model{before: 'p', scripts: [2]interleave.Script{"c"}, budget: budget{ticks: 2}},
	)
	walkModels(t, all)
}

// A fault is a mistake in the protocol that is planted into a model, to test that the walk finds it.
type fault int

const (
	sound fault = iota
	cancelsWithoutCondition
	schedulesWithoutCondition
	firesWithoutCondition
	finishesWithoutCondition
	resumesWithoutCondition
	doneBeforeHandler
	noWithoutBarrier
	barrierDoesNotWait // for the index
	trustsRefusal      // a call is decided anew because a copy of its request was refused
	trustsBehind       // the refusal of a server that is behind counts
	ignoresGap         // the index counts after a barrier, also if the consumer has passed over a message
	appliesOldEcho     // the index goes back to a message that comes after the acknowledgement of a newer one
	leavesOwn          // an attempt that this process has begun unknowingly is taken for one that runs
	finishesAny        // the end of an attempt ends a later one
	resumesLiving      // an attempt is resumed while its process is alive
	endsAnySeries      // a handler ends a series that has replaced its own
	endsInTimeOnly     // a handler does not end its series after the next occurrence has fired
	faults
)

func TestTheModelFindsEveryPlantedFault(t *testing.T) {
	testkit.SkipUnderRace(t, "it is one goroutine")
	calls := func(scripts ...interleave.Script) (all [2]interleave.Script) {
		copy(all[:], scripts)
		return all
	}
	models := [faults]model{
		cancelsWithoutCondition:   {before: 's', scripts: calls("c")},
		schedulesWithoutCondition: {before: 's', scripts: calls("s")},
		firesWithoutCondition:     {before: 's', scripts: calls("c")},
		finishesWithoutCondition:  {before: 's', budget: budget{silences: 1}},
		resumesWithoutCondition:   {before: 's', budget: budget{silences: 1}},
		doneBeforeHandler:         {before: 's', budget: budget{crashes: 1}},
		noWithoutBarrier:          {scripts: calls("s", "c")},
		barrierDoesNotWait:        {scripts: calls("s", "c")},
		trustsRefusal:             {before: 's', scripts: calls("c"), budget: budget{losses: 1}},
		trustsBehind:              {before: 's', scripts: calls("c"), budget: budget{behinds: 1}},
		ignoresGap:                {before: 'p', scripts: calls("", "g"), budget: budget{gaps: 1, ticks: 1}},
		appliesOldEcho:            {before: 's', scripts: calls("s")},
		leavesOwn:                 {before: 's', budget: budget{timeouts: 1}},
		finishesAny:               {before: 's', budget: budget{silences: 1, failures: 1}},
		resumesLiving:             {before: 's'},
		endsAnySeries:             {before: 'p', scripts: calls("p"), budget: budget{ticks: 1, ends: 1}},
		endsInTimeOnly:            {before: 'p', budget: budget{ticks: 2, ends: 1}},
	}
	for f := sound + 1; f < faults; f++ {
		m := models[f]
		n, err := m.walk()
		if err != nil {
			t.Errorf("the walk finds an error without a fault: %v", err)
		}
		m.fault = f
		if _, err = m.walk(); err == nil {
			t.Errorf("the walk does not find fault %d in %v", f, m)
		}
		t.Logf("fault %d, %d states without it: %v", f, n, err)
	}
}
