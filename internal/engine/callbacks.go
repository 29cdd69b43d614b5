package engine

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/foliot-go/foliot/wheel"
)

const (
	sampleDefault = 500
	sampleMax     = 4096

	// sampleStep is how many timers Callbacks picks in a shard before it unlocks the shard. In a wheel
	// with memory for at most sampleSmall timers it picks all at once, so that it picks none twice.
	sampleStep  = 64
	sampleSmall = 1024
)

// A CallbackShare is a function, and the share of the armed timers that call it when they fire.
type CallbackShare struct {
	Func    string
	Share   float64
	Samples int
}

// Names for timers that call no function of the user.
const (
	nameChan    = "send on a channel"
	nameContext = "end a context"
	nameBrief   = "wake a Sleep"
)

// Callbacks returns which functions the armed timers call, by a sample of them, as package foliot
// documents it. random returns a random number below n.
func (eng *Engine) Callbacks(sample int, random func(n uint32) uint32) []CallbackShare {
	if sample <= 0 {
		sample = sampleDefault
	}
	shards := *eng.shards.Load()
	armed := make([]int, len(shards))
	total := 0
	for i, s := range shards {
		armed[i] = s.pending()
		total += armed[i]
	}
	if total == 0 {
		return nil
	}
	sample = min(sample, sampleMax, total)

	// A shard gets its part of the sample. The fractions add up over the shards, from a random one on,
	// so that shards with few timers get their part, too.
	c := callbackCount{eng: eng, shares: map[string]*CallbackShare{}, names: map[uintptr]string{}}
	sum, taken := uint64(random(uint32(min(total, math.MaxInt32)))), 0
	for i, s := range shards {
		sum += uint64(armed[i]) * uint64(sample)
		want := int(sum/uint64(total)) - taken
		taken += want
		if want > 0 {
			c.add(s, want, random)
		}
	}
	return c.result()
}

// A callbackCount is a sample while it is taken.
type callbackCount struct {
	eng     *Engine
	shares  map[string]*CallbackShare // by name. Share is a sum of weights
	weights float64                   // the sum of all weights
	names   map[uintptr]string        // the names of functions by the addresses of their code
}

// add picks some timers of a shard. What it finds has the weight of what it wanted to find.
func (c *callbackCount) add(s *Shard, want int, random func(n uint32) uint32) {
	var found []sampled
	for left := want; left > 0; {
		var n int
		found, n = s.sample(found, left, random)
		left -= n
	}
	if len(found) == 0 {
		return
	}
	weight := float64(want) / float64(len(found))
	for i := range found {
		name := c.name(&found[i])
		share := c.shares[name]
		if share == nil {
			share = &CallbackShare{Func: name}
			c.shares[name] = share
		}
		share.Share += weight
		share.Samples++
		c.weights += weight
	}
}

// result returns the shares, the largest first.
func (c *callbackCount) result() []CallbackShare {
	all := make([]CallbackShare, 0, len(c.shares))
	for _, share := range c.shares {
		share.Share /= c.weights
		all = append(all, *share)
	}
	slices.SortFunc(all, func(a, b CallbackShare) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Func, b.Func))
	})
	return all
}

// A sampled is what the name of a timer depends on. It is taken with the lock of the shard held, and
// named afterwards.
type sampled struct {
	kind   kind
	fn     unsafe.Pointer // the callback, a func value, which is a pointer. nil for kindChan and kindItem
	item   any            // of kindItem: what Source.Body has returned
	source Source         // of kindItem
}

// sample picks armed timers at random, at most want and at most sampleStep or sampleSmall. It appends
// to dst what their names depend on, and returns how many it has tried to find. If it finds none,
// because most slots are not armed, it takes timers that are due next.
func (s *Shard) sample(dst []sampled, want int, random func(n uint32) uint32) (found []sampled, tried int) {
	var buf [sampleSmall]wheel.Handle
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	tried = min(want, sampleStep)
	if s.w.Cap() <= sampleSmall {
		tried = min(want, sampleSmall)
	}
	handles := s.w.Sample(buf[:0:tried], random)
	if len(handles) == 0 {
		handles, _ = s.w.Nearest(buf[:0:tried])
	}
	for _, h := range handles {
		b := s.w.Value(h)
		switch b.kind {
		case kindInternal:
		case kindChan:
			dst = append(dst, sampled{kind: kindChan})
		case kindItem:
			dst = append(dst, sampled{kind: kindItem, item: s.source.Body(b.ptr), source: s.source})
		default:
			dst = append(dst, sampled{kind: b.kind, fn: pointer(b.callback())})
		}
	}
	return dst, tried
}

// name returns the name of a timer.
func (c *callbackCount) name(f *sampled) string {
	switch f.kind {
	case kindChan:
		return nameChan
	case kindContext:
		return nameContext
	case kindBrief:
		return nameBrief
	case kindItem:
		return f.source.NameOf(f.item)
	}
	if name, ok := c.eng.names.m.Load(uintptr(f.fn)); ok {
		return name.(string)
	}
	// Closures of one function have the same code, whose address is the first word of a func value.
	code := *(*uintptr)(f.fn)
	name, ok := c.names[code]
	if !ok {
		name = c.eng.nameOf(f.fn)
		c.names[code] = name
	}
	return name
}
