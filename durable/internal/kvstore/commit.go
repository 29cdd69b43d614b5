package kvstore

import (
	"runtime"
	"time"
)

// A group is a list of changes that are committed together. Many callers share it: while the engine
// commits one group, the next one collects.
//
// A caller that is alone, or among few, does not wait for company. Where there are many callers, those
// of the last group come back while the others have joined the next one already. If the committer took
// the next group at once, half of the callers would always wait for the other half. So it waits until
// as many have joined as were waiting when the last group was kept, for a fraction of the time that a
// commit takes.
type group struct {
	batch Batch
	joins int           // how many operations have joined
	done  chan struct{} // closed when the group is kept, or has failed
	err   error         // set before done is closed
}

// isDone reports whether the group is kept.
func (g *group) isDone() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// join adds changes to the group that is committed next and returns it. Changes are kept in the order in
// which they join.
func (s *Store) join(ops []Op) *group {
	s.committing.Lock()
	defer s.committing.Unlock()
	g := s.next
	if g == nil {
		g = &group{batch: s.spare, done: make(chan struct{})}
		s.spare = Batch{}
		s.next = g
		s.wakeCommitter.Signal()
	}
	g.batch.add(ops)
	g.joins++
	return g
}

// commit is the committer: it commits groups, one after the other, until the store is closed.
func (s *Store) commit() {
	defer s.background.Done()
	callers, linger := 1, time.Duration(0)
	for {
		g := s.take(callers, linger)
		if g == nil {
			return
		}
		begin := time.Now()
		err := s.failure()
		if err == nil {
			var wait func() error
			if wait, err = s.engine.Apply(&g.batch); err == nil {
				err = wait()
			}
			err = s.fail(err)
		}
		g.err = err
		callers = g.joins + s.committed(g)
		linger = 0
		if callers >= lingerCallers {
			linger = min(time.Since(begin)/3, lingerMax)
		}
		close(g.done)
	}
}

const (
	lingerMax     = 200 * time.Microsecond // how long the committer waits for others to join, at most
	lingerCallers = 16                     // how many callers there must be for that
)

// lingerSpins bounds how often the committer looks meanwhile. It takes longer than lingerMax, except in a
// synctest bubble, where no time passes while a goroutine runs.
const lingerSpins = 1 << 12

// committed takes the memory of a group back, and returns how many operations have joined the next one.
func (s *Store) committed(g *group) (joins int) {
	s.committing.Lock()
	defer s.committing.Unlock()
	g.batch.reset()
	s.spare, g.batch = g.batch, Batch{}
	if s.next == nil {
		return 0
	}
	return s.next.joins
}

// take waits for a group and takes it. If there were several callers, it waits until as many have
// joined, but not for longer than linger. It returns nil when the store is closed.
func (s *Store) take(callers int, linger time.Duration) *group {
	s.committing.Lock()
	defer s.committing.Unlock()
	for s.next == nil && !s.noMoreGroups {
		s.wakeCommitter.Wait()
	}
	g := s.next
	begin := time.Now()
	for spins := 0; g != nil && g.joins < callers && time.Since(begin) < linger && spins < lingerSpins; spins++ {
		s.committing.Unlock()
		runtime.Gosched()
		s.committing.Lock()
	}
	s.next = nil
	return g
}

// wait waits until a group is kept. A group that is nil is.
func (s *Store) wait(g *group) error {
	if g == nil {
		return nil
	}
	select {
	case <-g.done:
		return g.err
	case <-s.broken: // the engine may never return
		return s.failure()
	}
}

// flush waits until everything is kept that has joined a group until now.
func (s *Store) flush() error { return s.wait(s.join(nil)) }

// flushed is flush for a caller that is not in a call of the store.
func (s *Store) flushed() error {
	if err := s.enterChange(); err != nil {
		return err
	}
	defer s.leave()
	return s.flush()
}
