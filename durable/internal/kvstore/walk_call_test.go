package kvstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/linear"
)

// call makes a call:
//
//	s     Schedule, due after a second
//	p, q  the same, and every two seconds or every second
//	S, R  the same with IfAbsent, with IfRev
//	c, C  Cancel, and with IfRev
//	g     Get
//
// Nothing is due at once: the pass that fires it would race for a place in the same commit.
//
// rev is the revision that the actor knows. call returns it after the call.
func (w *world) call(letter byte, rev uint64) uint64 {
	w.mu.Lock()
	life, s := w.life, w.s
	p := &pending{from: w.now()}
	var on []durable.If
	t := durable.Timer{ID: walkID, At: time.Now().Add(time.Second), Kind: "k"}
	switch letter {
	case 'p', 'q':
		t.Every = time.Duration('r'-letter) * time.Second
		p.call.Every = true
	case 'S':
		p.call.Absent, on = true, []durable.If{durable.IfAbsent()}
	case 'R', 'C':
		p.call.IfRev, p.call.Rev, on = true, rev, []durable.If{durable.IfRev(rev)}
	}
	p.call.Op = map[byte]linear.Op{'c': linear.Cancel, 'C': linear.Cancel, 'g': linear.Get}[letter]
	if p.call.Op == "" {
		p.call.Op = linear.Schedule
	}
	w.pending[p] = true
	w.mu.Unlock()
	var r linear.Result
	var err error
	switch ctx := context.Background(); p.call.Op {
	case linear.Schedule:
		r.Rev, err = s.Schedule(ctx, t, on...)
	case linear.Cancel:
		r.OK, err = s.Cancel(ctx, walkID, on...)
	case linear.Get:
		t, r.OK, err = s.Get(ctx, walkID)
		r.Rev = t.Rev
	}
	r.Exists, r.BadRev = errors.Is(err, durable.ErrExists), errors.Is(err, durable.ErrRev)
	w.mu.Lock()
	defer w.mu.Unlock()
	if life != w.life {
		return rev // the process that made the call has ended
	}
	if err != nil && !r.Exists && !r.BadRev {
		w.Errorf("%c returns %v", letter, err)
	}
	w.finish(p, r)
	return max(rev, r.Rev)
}

// actor makes the calls of a script. rev is the revision that it knows.
func (w *world) actor(i int, rev uint64) {
	for n := range len(w.c.actors[i]) {
		w.mu.Lock()
		life := w.life
		w.mu.Unlock()
		w.stopAt(fmt.Sprintf("actor %d %c", i, w.c.actors[i][n]), life)
		rev = w.call(w.c.actors[i][n], rev)
	}
}
