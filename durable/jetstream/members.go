package jetstream

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// Members are the processes that use the streams. Each sends a heartbeat to all, not through the stream.
//
// They are for two purposes. One is that a timer is fired by one process without all trying: the processes
// that can fire it are ranked for each timer, and each looks at it by a Standby later than the one before. A
// wrong ranking costs work, and nothing else.
//
// The other is to find attempts whose process has ended. It has if it has said so, or if it was silent for
// ownerSilence while the heartbeats of this process came back. A process that was only paused finds its
// attempt taken over, and its end refused.
type members struct {
	s       *Store
	subject string
	sub     *nats.Subscription
	kick    chan struct{} // has room for 1: a heartbeat is sent at once

	mu        sync.RWMutex
	peers     map[instance]*peer
	watcher   durable.Watcher      // that of the Run that is running on this store; nil: there is none
	since     time.Time            // the heartbeats of this process have come back without a break since then
	echo      time.Time            // when one has come back last
	left      map[string]bool      // timers that are due and that are left to others, as they have a handler
	asked     map[string]time.Time // by kind: when a timer without a handler here was first due
	unhandled map[string]uint64    // timers that were reported as ones without a handler, and their sequences

	longest atomic.Int64 // the longest delay that was returned
}

// A peer is another process.
type peer struct {
	heard   time.Time
	runs    bool
	kinds   map[string]bool
	nexts   map[string]bool // kinds with a NextFunc; nil: it has not said which
	left    bool            // it has said goodbye
	deadFor time.Time       // when it was noticed that it has ended
}

// A heartbeat is what a process says of itself.
type heartbeat struct {
	Name  string   `json:"name"`
	Runs  bool     `json:"runs,omitempty"`
	Kinds []string `json:"kinds,omitempty"`
	Nexts []string `json:"nexts"`           // those of Kinds with a NextFunc; null: the process does not say which
	Hello bool     `json:"hello,omitempty"` // others reply with a heartbeat
	Bye   bool     `json:"bye,omitempty"`
}

const (
	heartbeatEvery = 500 * time.Millisecond

	// rankSilence is how long a process may be silent and still is ranked.
	rankSilence = 3 * heartbeatEvery

	// ownerSilence is how long a process may be silent before its attempts are repeated by others.
	ownerSilence = 4 * time.Second

	// peerMemory is how long a process that is silent is remembered.
	peerMemory = 10 * time.Minute

	resumeEvery = 100 * time.Millisecond
)

func newMembers(s *Store) (*members, error) {
	m := &members{
		s: s, subject: s.opts.Stream + heartbeatToken, kick: make(chan struct{}, 1),
		peers: make(map[instance]*peer), left: make(map[string]bool), since: time.Now(),
		asked: make(map[string]time.Time), unhandled: make(map[string]uint64),
	}
	sub, err := s.nc.Subscribe(m.subject, m.receive)
	m.sub = sub
	return m, err
}

// begin sends the first heartbeat, and returns when it has come back.
func (m *members) begin(ctx context.Context) error {
	end := time.Now().Add(requestTime)
	for {
		m.send(heartbeat{Hello: true})
		m.s.sleepUntil(ctx, 20*time.Millisecond)
		m.mu.RLock()
		back := !m.echo.IsZero()
		m.mu.RUnlock()
		switch {
		case back:
			m.s.loops.Go(m.run)
			return nil
		case ctx.Err() != nil || time.Now().After(end):
			return errors.Join(fmt.Errorf("the heartbeats on %s do not come back", m.subject), ctx.Err(), m.s.permission(m.subject))
		}
	}
}

// run sends heartbeats, and looks for attempts whose process has ended.
func (m *members) run() {
	beat, look := time.NewTicker(heartbeatEvery), time.NewTicker(resumeEvery)
	defer beat.Stop()
	defer look.Stop()
	for {
		select {
		case <-m.s.ended:
			return
		case <-m.kick:
			m.send(heartbeat{})
		case <-beat.C:
			m.send(heartbeat{})
		case <-look.C:
			m.resume()
		}
	}
}

// send sends a heartbeat.
func (m *members) send(h heartbeat) {
	m.mu.RLock()
	w := m.watcher
	m.mu.RUnlock()
	h.Runs = w != nil
	h.Name = m.s.name.String()
	h.Nexts = []string{}
	if h.Runs {
		for _, p := range m.s.parts {
			p.mu.Lock()
			names := p.index.kinds.names
			p.mu.Unlock()
			for _, kind := range names { // it only grows
				if !w.Handles(kind) || slices.Contains(h.Kinds, kind) {
					continue
				}
				h.Kinds = append(h.Kinds, kind)
				if w.HasNext(kind) {
					h.Nexts = append(h.Nexts, kind)
				}
			}
		}
	}
	if b, err := json.Marshal(h); err == nil {
		_ = m.s.nc.Publish(m.subject, b) // a heartbeat that is lost is like silence
	}
}

// soon makes run send a heartbeat.
func (m *members) soon() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// goodbye says that this process ends.
func (m *members) goodbye() {
	if m.s.failure() == nil {
		m.send(heartbeat{Bye: true})
		_ = m.s.nc.FlushTimeout(time.Second)
	}
}

func (m *members) close() {
	if m.sub != nil {
		_ = m.sub.Unsubscribe()
	}
}

// runs says that a Run is running on this store. nil means that there is none.
func (m *members) runs(w durable.Watcher) {
	m.mu.Lock()
	m.watcher = w
	clear(m.left)
	clear(m.asked)
	clear(m.unhandled)
	m.mu.Unlock()
	m.soon()
}

// receive takes a heartbeat.
func (m *members) receive(msg *nats.Msg) {
	var h heartbeat
	var name instance
	if json.Unmarshal(msg.Data, &h) != nil {
		return
	}
	if n, err := hex.Decode(name[:], []byte(h.Name)[:min(len(h.Name), 2*len(name))]); err != nil || n != len(name) {
		return
	}
	now := time.Now()
	m.mu.Lock()
	if name == m.s.name {
		m.heardSelf(now)
		m.mu.Unlock()
		return
	}
	p := m.peers[name]
	if p == nil {
		p = &peer{}
		m.peers[name] = p
	}
	p.heard, p.runs, p.left, p.deadFor = now, h.Runs, h.Bye, time.Time{}
	p.kinds = setOf(h.Kinds)
	p.nexts = nil
	if h.Nexts != nil {
		p.nexts = setOf(h.Nexts)
	}
	m.mu.Unlock()
	if h.Hello {
		m.soon()
	}
}

func setOf(kinds []string) map[string]bool {
	set := make(map[string]bool, len(kinds))
	for _, kind := range kinds {
		set[kind] = true
	}
	return set
}

// heardSelf notes that a heartbeat of this process has come back. After a break, all others get as much time
// as if they had been heard now: it is not known which process was silent. The caller holds mu.
func (m *members) heardSelf(now time.Time) {
	if now.Sub(m.echo) > rankSilence {
		m.since = now
	}
	m.echo = now
}

// isAlive reports whether the process that handles an occurrence has not ended.
func (m *members) isAlive(name instance) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.alive(name, time.Now())
}

// alive is isAlive for a caller that holds mu.
func (m *members) alive(name instance, now time.Time) bool {
	p := m.peers[name]
	if p != nil && p.left {
		return false
	}
	if now.Sub(m.echo) > rankSilence {
		return true // this process may be the one that is cut off
	}
	heard := m.since
	if p != nil && p.heard.After(heard) {
		heard = p.heard
	}
	return now.Sub(heard) <= ownerSilence
}

// isLive reports whether a peer runs a Scheduler. The caller holds the lock of the members.
func (p *peer) isLive(now time.Time) bool {
	return p.runs && !p.left && now.Sub(p.heard) <= rankSilence
}

// isRanked reports whether a peer takes part in firing a timer: it has a handler of its kind, and with ByNext
// a NextFunc. The caller holds the lock of the members.
func (p *peer) isRanked(r *moves.Record, now time.Time) bool {
	return p.kinds[r.Kind] && (!r.IsByNext() || p.nexts == nil || p.nexts[r.Kind]) && p.isLive(now)
}

// delay returns how long after others this process looks at a timer.
func (m *members) delay(id string, r *moves.Record) time.Duration {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.peers) == 0 {
		return 0
	}
	now := time.Now()
	rank, mine := 0, weight(m.s.name, id)
	for name, p := range m.peers {
		if p.isRanked(r, now) && weight(name, id) > mine {
			rank++
		}
	}
	d := time.Duration(rank) * m.s.opts.Standby
	for {
		longest := m.longest.Load()
		if int64(d) <= longest || m.longest.CompareAndSwap(longest, int64(d)) {
			return d
		}
	}
}

// weight orders the processes for a timer.
func weight(name instance, id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(name[:])
	_, _ = h.Write([]byte(id))
	return mix(h.Sum64())
}

// leave reports whether another process can fire a timer. Then the timer is left to it, until it ends.
func (m *members) leave(id string, r *moves.Record) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if _, ok := m.asked[r.Kind]; !ok {
		m.asked[r.Kind] = now
	}
	if m.others(r, now) {
		m.left[id] = true
		return true
	}
	return false
}

// others reports whether another process can fire a timer. If the kind is new, it may, until it has had the time
// to say so. The caller holds mu.
func (m *members) others(r *moves.Record, now time.Time) bool {
	isNew := now.Sub(m.asked[r.Kind]) < rankSilence
	for _, p := range m.peers {
		if p.isRanked(r, now) || isNew && p.isLive(now) {
			return true
		}
	}
	return false
}

// noteUnhandled notes a timer that is reported as one without a handler, and the message that is known of it.
func (m *members) noteUnhandled(id string, seq uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unhandled[id] = seq
}

// checkUnhandled tells the watcher again of timers that were reported as ones without a handler and that have
// changed since: a change may have been told before the report has arrived.
func (m *members) checkUnhandled() {
	m.mu.Lock()
	noted := m.unhandled
	m.unhandled = make(map[string]uint64)
	m.mu.Unlock()
	for id, seq := range noted {
		p := m.s.part(id)
		p.mu.Lock()
		if v := p.index.view(id); v.seq != seq || v.record.State == moves.None {
			m.s.tellView(id, &v)
		} else {
			m.noteUnhandled(id, seq)
		}
		p.mu.Unlock()
	}
}

// count returns how many processes run a Scheduler.
func (m *members) count() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := 0
	if m.watcher != nil {
		n = 1
	}
	for _, p := range m.peers {
		if p.isLive(time.Now()) {
			n++
		}
	}
	return n
}

// resume tells the watcher to look at attempts whose process has ended, and at timers that were left to
// others that have ended.
func (m *members) resume() {
	now := time.Now()
	for _, p := range m.s.parts {
		p.mu.Lock()
		var wakes []string
		for id, owner := range p.index.handled {
			if m.mayResume(id, owner, p, now) {
				wakes = append(wakes, id)
			}
		}
		for _, id := range wakes {
			m.s.tell(func(w durable.Watcher) { w.Wake(durable.Wake{ID: id, At: math.MinInt64}) })
		}
		p.mu.Unlock()
	}
	m.mu.Lock()
	var back []string
	for id := range m.left {
		back = append(back, id)
	}
	for name, p := range m.peers {
		if now.Sub(p.heard) > peerMemory {
			delete(m.peers, name)
		}
	}
	m.mu.Unlock()
	for _, id := range back {
		m.reconsider(id, now)
	}
	m.checkUnhandled()
}

// mayResume reports whether this process may repeat an attempt now. The caller holds the lock of the part.
func (m *members) mayResume(id string, owner instance, p *part, now time.Time) bool {
	if owner == m.s.name {
		return !m.s.isRunning(id, p.index.view(id).record.Occurrence.Rev)
	}
	r := p.index.view(id).record
	m.mu.Lock()
	if m.alive(owner, now) {
		m.mu.Unlock()
		return false
	}
	peer := m.peers[owner]
	if peer == nil { // it has ended before this process began
		m.mu.Unlock()
		return now.Sub(m.since) > ownerSilence+m.delay(id, &r)
	}
	if peer.deadFor.IsZero() {
		peer.deadFor = now
	}
	dead := peer.deadFor
	m.mu.Unlock()
	return now.Sub(dead) >= m.delay(id, &r)
}

// isKnown reports whether a process was heard.
func (m *members) isKnown(name instance) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.known(name)
}

// known is isKnown for a caller that holds mu.
func (m *members) known(name instance) bool { return name == m.s.name || m.peers[name] != nil }

// undecided returns the attempts of processes that were never heard, as long as these may be alive.
func (m *members) undecided() (ids []string) {
	now := time.Now()
	for _, p := range m.s.parts {
		p.mu.Lock()
		m.mu.RLock()
		for id, owner := range p.index.handled {
			if !m.known(owner) && m.alive(owner, now) {
				ids = append(ids, id)
			}
		}
		m.mu.RUnlock()
		p.mu.Unlock()
	}
	return ids
}

// reconsider looks again at a timer that was left to others: it is told to the watcher if none of them can fire
// it any more.
func (m *members) reconsider(id string, now time.Time) {
	p := m.s.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.index.view(id)
	m.mu.Lock()
	if v.record.State != moves.None && m.others(&v.record, now) {
		m.mu.Unlock()
		return
	}
	delete(m.left, id)
	m.mu.Unlock()
	m.s.tellView(id, &v)
}
