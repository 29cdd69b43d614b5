package wheel_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A program is a sequence of operations on a wheel, encoded as bytes: one byte that says how the
// wheel is made, then opSize bytes per operation. Every byte sequence is a valid program, also
// after operations have been cut out. The fuzzer and shrink need that.
type program []byte

const opSize = 5

// An op is one operation: a code, and arguments whose meaning depends on the code.
type op struct {
	code       opCode
	kind, a, b byte // for most operations a tick, see model.when
	c          byte // for most operations an entry or a count
}

type opCode byte

const (
	opSchedule opCode = iota
	opReschedule
	opCancel
	opLookup
	opForge
	opAdvance
	opAdvanceToNext
	opDrain
	opAll
	opUnranged
	opScheduleMany
	opScheduleManyOnOneTick
	opRescheduleMany
	opCancelMany
	opTrim
	opPark
	opParkMany
	opPop
	opValue
	opCompact
	opReserve
	opPeek
	opRewind
	opCancelNumbered
	opSpans
	opCodes // the number of codes
)

var opNames = [opCodes]string{
	"Schedule", "Reschedule", "Cancel", "Lookup", "Forge", "Advance", "AdvanceToNext", "Drain", "All", "Unranged",
	"ScheduleMany", "ScheduleManyOnOneTick", "RescheduleMany", "CancelMany", "Trim",
	"Park", "ParkMany", "Pop", "Value", "Compact", "Reserve", "Peek", "Rewind", "CancelNumbered", "Spans",
}

func (p program) start() byte {
	if len(p) == 0 {
		return 0
	}
	return p[0]
}

func (p program) ops() []op {
	var ops []op
	for i := 1; i+opSize <= len(p); i += opSize {
		ops = append(ops, op{opCode(p[i]) % opCodes, p[i+1], p[i+2], p[i+3], p[i+4]})
	}
	return ops
}

func makeProgram(start byte, ops ...op) program {
	p := program{start}
	for _, o := range ops {
		p = append(p, byte(o.code), o.kind, o.a, o.b, o.c)
	}
	return p
}

func (p program) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "start %d\n", p.start())
	for _, o := range p.ops() {
		fmt.Fprintf(&s, "%-22s kind %d, a %d, b %d, c %d\n", opNames[o.code], o.kind%whenKinds, o.a, o.b, o.c)
	}
	fmt.Fprintf(&s, "as bytes: %q", []byte(p))
	return s.String()
}

// weights says how often randomProgram chooses each operation, relative to the others.
type weights [opCodes]int

var (
	mixed = weights{
		opSchedule: 30, opReschedule: 12, opCancel: 8, opLookup: 4, opForge: 3, opAdvance: 14, opAdvanceToNext: 4,
		opDrain: 1, opAll: 2, opUnranged: 1, opScheduleMany: 4, opScheduleManyOnOneTick: 2, opRescheduleMany: 2, opCancelMany: 2,
		opTrim: 2, opPark: 6, opParkMany: 1, opPop: 8, opValue: 3, opCompact: 2, opReserve: 3, opPeek: 2, opRewind: 5, opCancelNumbered: 4, opSpans: 4,
	}
	bulk = weights{
		opSchedule: 4, opReschedule: 4, opCancel: 2, opLookup: 1, opAdvance: 10, opAdvanceToNext: 4, opDrain: 1, opAll: 1,
		opScheduleMany: 6, opScheduleManyOnOneTick: 3, opRescheduleMany: 6, opCancelMany: 3, opTrim: 2,
		opPark: 1, opParkMany: 2, opPop: 6, opValue: 1, opCompact: 3, opReserve: 1, opPeek: 1, opRewind: 3, opCancelNumbered: 3, opSpans: 3,
	}
)

// randomProgram returns a program of the given number of operations.
func randomProgram(rng *rand.Rand, ops int, w weights) program {
	var bag []opCode
	for code, n := range w {
		bag = append(bag, slices.Repeat([]opCode{opCode(code)}, n)...)
	}
	p := program{byte(rng.Uint32())}
	reach := 1 + rng.IntN(1+rng.IntN(64)) // most distances in this program are below 2^(reach+8)
	for range ops {
		o := op{
			code: bag[rng.IntN(len(bag))],
			kind: byte(rng.IntN(whenKinds)),
			a:    byte(rng.IntN(reach)),
			b:    byte(rng.Uint32()),
			c:    byte(rng.Uint32()),
		}
		// Time advances in smaller steps than the distances of new entries, and rarely gets near
		// the last tick, where everything is due at once.
		if o.code == opAdvance || o.code == opPop || o.code == opPeek {
			o.a = byte(rng.IntN(int(o.a) + 1))
		}
		if o.code == opRewind && rng.IntN(4) > 0 {
			o.kind = whenPast
		}
		if o.kind == whenHuge && rng.IntN(20) > 0 {
			o.kind = whenClose
		}
		p = append(p, byte(o.code), o.kind, o.a, o.b, o.c)
	}
	return p
}

// shrink looks for a smaller program that still fails. It cuts out runs of operations, then sets
// bytes to 0.
func shrink(p program, fails func(program) bool) program {
	attempts := 3000 // enough for programs of a few hundred operations
	try := func(q program) bool {
		if attempts--; attempts < 0 || !fails(q) {
			return false
		}
		p = q
		return true
	}
	for n := len(p) / opSize / 2; n >= 1; n /= 2 {
		for i := 1; i < len(p); {
			if !try(slices.Delete(slices.Clone(p), i, min(i+n*opSize, len(p)))) {
				i += n * opSize
			}
		}
	}
	for i := range p {
		if q := slices.Clone(p); p[i] != 0 {
			q[i] = 0
			try(q)
		}
	}
	return p
}
