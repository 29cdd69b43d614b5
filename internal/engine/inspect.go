package engine

import (
	"math"
	"slices"
	"unsafe"

	"github.com/foliot-go/foliot/internal/survey"
	"github.com/foliot-go/foliot/internal/wheel"
)

// This file inspects the wheels for the live page: when timers are due, and what they call. Package
// survey does the counting.

// Horizon returns a histogram of the armed timers by deadline, in the form of [wheel.Horizon], and
// the time now at which it was taken. It returns nil if nothing is armed or if the call is foreign.
func (eng *Engine) Horizon() (horizon []wheel.Span, now int64) {
	now, err := eng.CheckedNow()
	if err != nil {
		return nil, 0
	}
	at := eng.Floor(now)
	var all, spans, buf []wheel.Span
	for _, s := range *eng.shards.Load() {
		spans = s.spans(spans[:0], at)
		buf = survey.Merge(buf[:0], all, spans)
		all, buf = buf, all
	}
	return wheel.Horizon(all, at), now
}

// spans appends the wheel's spans to dst (see [wheel.Wheel.Spans]), without the timers that Stats
// does not count, so that they add up to the number of armed timers. A timer that has come due
// while its callback runs is armed but not in the wheel. It counts in the first span, which then
// ends at tick at or earlier.
func (s *Shard) spans(dst []wheel.Span, at wheel.Tick) []wheel.Span {
	s.mu.Lock()
	defer s.unlock()
	dst = s.front().Spans(dst, at)
	missing := s.armed
	for i := range dst {
		missing -= dst[i].Count
	}
	for h := range s.queues {
		filed, b := s.w.Entry(h)
		if b == nil || b.state != stateArmed && b.state != stateRunningArmed {
			continue
		}
		i, _ := slices.BinarySearchFunc(dst, filed, func(s wheel.Span, at wheel.Tick) int {
			if s.Last < at {
				return -1
			}
			return 1
		})
		dst[i].Count--
		missing++
	}
	if missing != 0 {
		if len(dst) == 0 || dst[0].Last > at {
			dst = slices.Insert(dst, 0, wheel.Span{First: at, Last: at})
		}
		dst[0].Count += missing
	}
	return dst
}

const (
	sampleDefault = 500
	sampleMax     = 4096

	// Callbacks picks up to sampleStep timers of a shard before it unlocks the shard. In a wheel
	// with memory for at most sampleSmall timers it picks all of them under one lock, so that it
	// picks none twice.
	sampleStep  = 64
	sampleSmall = 1024
)

// Names of timers that call no user function.
const (
	nameChan    = "send on a channel"
	nameContext = "end a context"
	nameSleep   = "wake a Sleep"
)

// Callbacks estimates from a sample which functions the armed timers call. random returns a random
// number below n. Package foliot documents the rest.
func (eng *Engine) Callbacks(sample int, random func(n uint32) uint32) []survey.Share {
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
	c := namer{eng, map[uintptr]string{}}
	var shares survey.Shares
	for i, want := range survey.Divide(min(sample, sampleMax, total), armed, random(uint32(min(total, math.MaxInt32)))) {
		var found []sampled
		for left := want; left > 0; {
			var tried int
			found, tried = shards[i].sample(found, left, random)
			left -= tried
		}
		names := make([]string, len(found))
		for k := range found {
			names[k] = c.name(&found[k])
		}
		shares.Add(names, want)
	}
	return shares.Sorted()
}

// A sampled holds what a timer's name depends on. It is filled in with the shard's lock held, and
// named afterwards.
type sampled struct {
	kind kind
	fn   unsafe.Pointer // the callback, a func value, which is a pointer. nil for kindTask
	task any            // for kindTask: the task's body
}

// sample picks armed timers at random and appends what their names depend on to dst. It tries to
// find want timers, but no more than sampleStep or sampleSmall, and returns how many it tried to
// find. If it finds none, because most slots are not armed, it takes the timers that are due next.
func (s *Shard) sample(dst []sampled, want int, random func(n uint32) uint32) (found []sampled, tried int) {
	var buf [sampleSmall]wheel.Handle
	s.mu.Lock()
	defer s.unlock()
	tried = min(want, sampleStep)
	if s.w.Cap() <= sampleSmall {
		tried = min(want, sampleSmall)
	}
	w := s.front()
	handles := w.Sample(buf[:0:tried], random)
	if len(handles) == 0 {
		handles, _ = w.Nearest(buf[:0:tried])
	}
	for _, h := range handles {
		b := s.w.Value(h)
		switch b.kind {
		case kindQueue:
		case kindTask:
			dst = append(dst, sampled{kind: kindTask, task: (*task)(b.ptr).body})
		default:
			dst = append(dst, sampled{kind: b.kind, fn: pointer(b.callback())})
		}
	}
	return dst, tried
}

// A namer names the timers of a sample. It caches the names of functions, because looking one up
// takes about a microsecond.
type namer struct {
	eng   *Engine
	names map[uintptr]string // by code address
}

// chanCode is the code address shared by all functions that [Chan.callback] returns.
var chanCode = *(*uintptr)(pointer(new(Chan).callback()))

// name returns the name of a timer.
func (c *namer) name(f *sampled) string {
	switch f.kind {
	case kindTick:
		return nameChan
	case kindContext:
		return nameContext
	case kindOwn:
		if *(*uintptr)(f.fn) == chanCode {
			return nameChan
		}
		return nameSleep
	case kindTask:
		return taskName(f.task)
	}
	if name, ok := c.eng.names.m.Load(uintptr(f.fn)); ok {
		return name.(string)
	}
	// The first word of a func value is its code address, which all closures of one function share.
	code := *(*uintptr)(f.fn)
	name, ok := c.names[code]
	if !ok {
		name = c.eng.callbackName(f.fn)
		c.names[code] = name
	}
	return name
}
