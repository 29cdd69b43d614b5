package webhook

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// A queue gives out places for sends. There are as many as sends may run at a time. A host may hold a share
// of them only, and the hosts that were slow last time may hold one share together. So a receiver that hangs
// leaves places to others, however many sends wait for it. Hosts that wait take turns.
//
// The room for sends that wait is shared, too. A host may fill as much of it as it leaves free, and a slow one
// an eighth of that. When a host becomes slow, sends that have waited for it beyond that end. So however many
// hosts hang, others find room.
//
// A host is in at most one of the lists turns and slowTurns. It is in the one of its class if and only if a
// send waits for it and it holds fewer places than it may. So a place that becomes free is given on without a
// look at hosts that cannot take it.
type queue struct {
	share int // places that one host may hold; also those that all slow hosts may hold
	room  int // sends that may wait

	stopped chan struct{} // closed by stop

	mu        sync.Mutex // protects what follows; held for a few operations on lists
	free      int
	held      int // places that slow hosts hold
	waiting   int
	hosts     map[string]*host
	turns     list.List // of *host
	slowTurns list.List
	slowNext  bool // the next place goes to a slow host, if one waits
}

// A host is a receiver. The mutex of the queue protects it.
type host struct {
	name    string
	sends   int       // places that it holds
	wait    list.List // of *waiter, oldest first
	slow    bool      // its last send took long or had no response
	refused int       // sends that found no room, less those that got a place since then
	turn    *list.Element
	in      *list.List // the list that has turn
}

type waiter struct {
	granted chan *place // has room for 1; nil says that there is no room any more
}

// A place is the right to send one request.
type place struct {
	q    *queue
	h    *host
	slow bool // counts in queue.held
}

// ErrSlow is in the Result of a webhook that was not sent because too many wait for its host, whose last
// response took long or did not come.
var ErrSlow = errors.New("too many webhooks wait for this host, which is slow")

// A FullError is in the Result of a webhook that was not sent because too many wait for its host, which is not
// slow.
type FullError struct {
	Rounds int // how often those that wait must be sent until there is room for all that were refused
}

func (e *FullError) Error() string { return "too many webhooks wait for this host" }

// ErrStopped is in the Result of a webhook that was not sent because of Stop.
var ErrStopped = errors.New("the server is ending")

// maxIdleHosts is how many hosts without sends are remembered because they were slow.
const maxIdleHosts = 4096

func newQueue(places, room int) *queue {
	return &queue{share: max(1, places/4), room: room, free: places, hosts: make(map[string]*host), stopped: make(chan struct{})}
}

// enter waits for a place. It returns the error of ctx if that ends first, a FullError or ErrSlow if
// too many wait, and ErrStopped after stop.
func (q *queue) enter(ctx context.Context, name string) (*place, error) {
	select {
	case <-q.stopped: // also if a place is free
		return nil, ErrStopped
	default:
	}
	q.mu.Lock()
	h := q.hosts[name]
	if h == nil {
		h = &host{name: name}
		q.hosts[name] = h
	}
	if h.wait.Len() >= q.limit(h) {
		defer q.mu.Unlock()
		if h.slow {
			return nil, ErrSlow
		}
		h.refused++
		return nil, &FullError{1 + h.refused/max(1, h.wait.Len())}
	}
	w := &waiter{granted: make(chan *place, 1)}
	e := h.wait.PushBack(w)
	q.waiting++
	q.settle(h)
	q.grant()
	q.mu.Unlock()

	err := ErrStopped
	select {
	case p := <-w.granted:
		if p == nil {
			return nil, ErrSlow
		}
		return p, nil
	case <-q.stopped:
	case <-ctx.Done():
		err = ctx.Err()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case p := <-w.granted: // both happened; the place is not used
		if p != nil {
			q.release(p)
		}
	default:
		h.wait.Remove(e)
		q.waiting--
		q.settle(h)
	}
	return nil, err
}

// stop ends all that wait. It is called once.
func (q *queue) stop() { close(q.stopped) }

// leave gives a place back. slow says that the send took long or had no response.
func (p *place) leave(slow bool) {
	q := p.q
	q.mu.Lock()
	defer q.mu.Unlock()
	p.h.slow = slow
	q.release(p)
	q.evict(p.h)
}

// slowRoom is the part of the free room that a slow host may fill: an eighth.
const slowRoom = 8

// limit returns how many sends may wait for a host. The caller holds mu.
func (q *queue) limit(h *host) int {
	free := q.room - q.waiting
	if h.slow {
		free /= slowRoom
	}
	return free
}

// evict ends the latest sends that wait for a slow host, until there are no more than may wait. The caller
// holds mu.
func (q *queue) evict(h *host) {
	if !h.slow {
		return
	}
	for h.wait.Len() > q.limit(h) {
		w := h.wait.Remove(h.wait.Back()).(*waiter)
		q.waiting--
		w.granted <- nil
	}
	q.settle(h)
}

// release gives a place to the next host. The caller holds mu.
func (q *queue) release(p *place) {
	q.free++
	if p.slow {
		q.held--
	}
	p.h.sends--
	q.settle(p.h)
	q.grant()
}

// grant gives out free places. The caller holds mu.
func (q *queue) grant() {
	for q.free > 0 {
		from := &q.turns
		slow := q.slowTurns.Len() > 0 && q.held < q.share
		if slow && (q.slowNext || from.Len() == 0) {
			from = &q.slowTurns
		}
		if from.Len() == 0 {
			return
		}
		q.slowNext = from == &q.turns
		h := from.Front().Value.(*host)
		w := h.wait.Remove(h.wait.Front()).(*waiter)
		q.waiting--
		q.free--
		h.sends++
		h.refused = max(0, h.refused-1)
		p := &place{q: q, h: h, slow: h.slow}
		if p.slow {
			q.held++
		}
		q.drop(h) // its next turn comes after those of the others
		q.settle(h)
		w.granted <- p
	}
}

// settle puts a host into the list where it belongs, or out of all. The caller holds mu.
func (q *queue) settle(h *host) {
	may, want := q.share, &q.turns
	if h.slow {
		may, want = max(1, q.share/4), &q.slowTurns
	}
	if h.wait.Len() == 0 || h.sends >= may {
		want = nil
	}
	if h.in != want {
		q.drop(h)
		if want != nil {
			h.turn, h.in = want.PushBack(h), want
		}
	}
	if h.wait.Len() == 0 && h.sends == 0 && (!h.slow || len(q.hosts) > maxIdleHosts) && q.hosts[h.name] == h {
		delete(q.hosts, h.name)
	}
}

// drop takes a host out of its list. The caller holds mu.
func (q *queue) drop(h *host) {
	if h.in != nil {
		h.in.Remove(h.turn)
		h.turn, h.in = nil, nil
	}
}

// load returns the number of places that are taken, and of sends that wait.
func (q *queue) load(places int) (sending, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return places - q.free, q.waiting
}
