package contexts

import (
	"math/rand/v2"
	"slices"
	"time"
)

// An action says what a step of a program does.
type action uint8

const (
	makeCancel action = iota
	makeCancelCause
	makeDeadline
	makeDeadlineCause
	makeTimeout
	makeTimeoutCause
	makeValue
	makeWithoutCancel
	makeWrapper
	makeUser
	makeHook  // AfterFunc
	makeShort // a context with a short deadline, and its descendants
	doCancel
	doEnd      // end a user's context, or close the channel of a wrapper
	doStop     // call the stop function of an AfterFunc
	doQuery    // call all methods of one context
	doKeepDone // call Done and keep the channel
	doCheck    // call all methods of all contexts
	doWatchErr // call methods, and check that they do not call Err of a user's context
)

// frequencies has the relative frequency of each action.
var frequencies = [...]int{
	makeCancel:        6,
	makeCancelCause:   5,
	makeDeadline:      4,
	makeDeadlineCause: 4,
	makeTimeout:       3,
	makeTimeoutCause:  3,
	makeValue:         2,
	makeWithoutCancel: 1,
	makeWrapper:       8,
	makeUser:          3,
	makeHook:          4,
	makeShort:         1,
	doCancel:          7,
	doEnd:             4,
	doStop:            3,
	doQuery:           6,
	doKeepDone:        3,
	doCheck:           2,
	doWatchErr:        2,
}

// actions has each action as often as its frequency.
var actions = func() (all []action) {
	for a, n := range frequencies {
		all = append(all, slices.Repeat([]action{action(a)}, n)...)
	}
	return all
}()

// A step is one step of a program. The meaning of its numbers depends on the action. All numbers
// are valid.
type step struct {
	action action
	target byte // selects the context, see choose
	detail byte // selects a variant
	pick   byte // bit 0 selects the maker
}

const stepBytes = 4

// A program is a list of steps. It is decoded from bytes, which a fuzzer makes. All bytes are
// valid.
type program []step

// maxSteps is the maximum length of a program.
const maxSteps = 80

// decode decodes a program.
func decode(data []byte) (p program) {
	for len(data) >= stepBytes && len(p) < maxSteps {
		p = append(p, step{actions[int(data[0])%len(actions)], data[1], data[2], data[3]})
		data = data[stepBytes:]
	}
	return p
}

// encode is the inverse of decode.
func (p program) encode() (data []byte) {
	for _, s := range p {
		data = append(data, byte(slices.Index(actions, s.action)), s.target, s.detail, s.pick)
	}
	return data
}

// randomBytes returns an encoded program. Most programs begin with steps that make contexts.
func randomBytes(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, stepBytes*(5+rng.IntN(maxSteps-5)))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	for i := 0; i < 4 && rng.IntN(3) > 0; i++ {
		data[i*stepBytes] = byte(rng.IntN(slices.Index(actions, makeShort)))
	}
	return data
}

// choose returns an index less than n. Half of all numbers select one of the last four indices. It
// returns -1 if n is 0.
func choose(b byte, n int) int {
	switch {
	case n == 0:
		return -1
	case b < 128:
		return n - 1 - int(b)%min(n, 4)
	default:
		return int(b) % n
	}
}

// shrink removes steps from p as long as the program still fails, until limit.
func (p program) shrink(fails func(program) bool, limit time.Time) program {
	for size := len(p) / 2; size > 0; {
		smaller := false
		for at := 0; at+size <= len(p) && time.Now().Before(limit); {
			rest := slices.Concat(p[:at], p[at+size:])
			if fails(rest) {
				p, smaller = rest, true
			} else {
				at += size
			}
		}
		if !smaller {
			size /= 2
		}
	}
	return p
}
