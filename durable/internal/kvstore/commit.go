package kvstore

// A group is a list of changes that are committed together. Many callers share it: while the committer
// applies one group, the next one collects. A caller that is alone does not wait for company. The
// committer does not wait until a group is kept before it applies the next one, so that the engine
// never waits for the committer. It can keep several groups at once.
type group struct {
	batch Batch
	wait  func() error  // of the engine
	done  chan struct{} // closed when the group is kept, or has failed
	err   error         // set before done is closed
}

// groupsMax is how many groups may be applied and not kept yet.
const groupsMax = 8

// isDone reports whether the group is kept.
func (g *group) isDone() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// join adds changes to the group that is applied next and returns it. Changes are kept in the order in
// which they join.
func (s *Store) join(ops []Op) *group {
	s.committing.Lock()
	defer s.committing.Unlock()
	g := s.next
	if g == nil {
		g = &group{done: make(chan struct{})}
		s.next = g
		s.wakeCommitter.Signal()
	}
	g.batch.Ops = append(g.batch.Ops, ops...)
	return g
}

// commit is the committer: it applies groups, one after the other, until the store is closed.
func (s *Store) commit() {
	defer s.background.Done()
	applied := make(chan *group, groupsMax)
	defer close(applied)
	go s.keep(applied)
	for {
		s.committing.Lock()
		for s.next == nil && !s.noMoreGroups {
			s.wakeCommitter.Wait()
		}
		g := s.next
		s.next = nil
		s.committing.Unlock()
		if g == nil {
			return
		}
		if g.err = s.failure(); g.err == nil {
			g.wait, g.err = s.engine.Apply(&g.batch)
		}
		applied <- g
	}
}

// keep ends groups when they are kept.
func (s *Store) keep(applied <-chan *group) {
	defer s.background.Done()
	for g := range applied {
		if g.err == nil {
			g.err = g.wait()
		}
		if g.err != nil && s.failure() == nil {
			_ = s.fail(g.err)
		}
		g.err = s.failure()
		g.batch, g.wait = Batch{}, nil
		close(g.done)
	}
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
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return s.flush()
}
