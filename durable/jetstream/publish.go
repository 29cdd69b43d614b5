package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// A publisher sends messages to streams, many at a time, and gives each acknowledgement to the call that
// waits for it. All acknowledgements come on one subscription.
type publisher struct {
	nc     *nats.Conn
	prefix string // of the subjects of acknowledgements
	sub    *nats.Subscription
	last   atomic.Uint64 // the number that was given to a call last

	mu    sync.Mutex
	calls map[uint64]*call // by number: those that wait
}

// A call is a message that was sent, or that will be. It is sent again with the same number until there is
// a reply. The number is part of the change that the message makes: when the consumer delivers that change,
// it has happened, with or without an acknowledgement.
type call struct {
	n     uint64
	reply chan reply    // has room for 1, or for all of several replies: one that comes while it is full is dropped
	echo  atomic.Uint64 // the sequence under which the consumer has delivered the change; 0: it has not
	sends int           // owned by the goroutine that waits
}

// A reply is what the stream says to a message.
type reply struct {
	seq  uint64 // it was stored under this sequence
	data []byte // of a reply that is no acknowledgement
	msg  *nats.Msg
	err  error
}

// A refusal is the error of a stream that has not stored a message.
type refusal struct {
	code        int
	description string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the server refuses it: %s (%d)", r.description, r.code)
}

// Codes of refusals.
const (
	codeConflict  = 10071 // the last message of the subject has another sequence, which the description names
	codeInFlight  = 10164 // another message of the subject is not decided yet
	codeNoStream  = 10059
	codeNoPeers   = 10005 // there are not enough servers for the replicas
	codeFull      = 10077 // the stream has reached a bound, or cannot write
	codeBatch     = 10176 // the batch is not complete
	codeManyBatch = 10210 // too many batches are not complete yet
)

// errNoResponders says that no server listens to a subject: the stream has no leader now, or is not there.
var errNoResponders = errors.New("no server has the stream now")

// conflict returns the sequence of the last message of the subject, if an error says that it is another one
// than was expected.
func conflict(err error) (last uint64, ok bool) {
	var r *refusal
	if !errors.As(err, &r) || r.code != codeConflict {
		return 0, false
	}
	_, number, _ := strings.Cut(r.description, ": ")
	last, err = strconv.ParseUint(number, 10, 64)
	return last, err == nil
}

// hasCode reports whether an error is a refusal with one of some codes.
func hasCode(err error, codes ...int) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	for _, c := range codes {
		if r.code == c {
			return true
		}
	}
	return false
}

func newPublisher(nc *nats.Conn) (*publisher, error) {
	p := &publisher{nc: nc, prefix: nc.NewInbox() + ".", calls: make(map[uint64]*call)}
	sub, err := nc.Subscribe(p.prefix+"*", p.receive)
	if err != nil {
		return nil, err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	p.sub = sub
	return p, nil
}

// begin returns a new call. end must follow.
func (p *publisher) begin() *call { return p.beginWith(1) }

// beginWith returns a new call with room for some replies. end must follow.
func (p *publisher) beginWith(replies int) *call {
	c := &call{n: p.last.Add(1), reply: make(chan reply, replies)}
	p.mu.Lock()
	p.calls[c.n] = c
	p.mu.Unlock()
	return c
}

// end says that nothing waits for a call any more.
func (p *publisher) end(c *call) {
	p.mu.Lock()
	delete(p.calls, c.n)
	p.mu.Unlock()
}

// send sends a message of a call.
func (p *publisher) send(c *call, m *nats.Msg) error {
	m.Reply = p.prefix + strconv.FormatUint(c.n, 36)
	if err := p.nc.PublishMsg(m); err != nil {
		return err
	}
	c.sends++
	return nil
}

// happened gives a call its result: the consumer has delivered its change.
func (p *publisher) happened(n, seq uint64) {
	p.mu.Lock()
	c := p.calls[n]
	p.mu.Unlock()
	if c != nil {
		c.echo.Store(seq)
		c.resolve(reply{seq: seq})
	}
}

// resolve gives a call a reply.
func (c *call) resolve(r reply) {
	select {
	case c.reply <- r:
	default: // it has one
	}
}

// receive gives a reply to its call.
func (p *publisher) receive(m *nats.Msg) {
	n, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, p.prefix), 36, 64)
	if err != nil {
		return
	}
	p.mu.Lock()
	c := p.calls[n]
	p.mu.Unlock()
	if c != nil {
		c.resolve(parseReply(m))
	}
}

// parseReply reads the reply of a server.
func parseReply(m *nats.Msg) reply {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return reply{err: errNoResponders}
	}
	if m.Header != nil { // a stored message
		return reply{msg: m}
	}
	var ack struct {
		Seq   uint64
		Error *struct {
			Code        int
			ErrCode     int `json:"err_code"`
			Description string
		}
	}
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		return reply{err: fmt.Errorf("the server sends a reply that is not JSON: %w", err)}
	}
	if e := ack.Error; e != nil {
		return reply{err: &refusal{e.ErrCode, e.Description}, data: m.Data}
	}
	return reply{seq: ack.Seq, data: m.Data}
}

// close ends the subscription.
func (p *publisher) close() { _ = p.sub.Unsubscribe() }

// A backoff is a pause that doubles.
type backoff struct{ next, most time.Duration }

func (b *backoff) pause() time.Duration {
	d := b.next
	b.next = min(2*b.next, b.most)
	return d
}
