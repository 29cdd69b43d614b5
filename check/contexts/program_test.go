package contexts

import (
	"math/rand/v2"
	"slices"
	"time"
)

// action is what a step of a program does.
type action uint8

const (
	makeCancel action = iota
	makeCancelCause
	makeDeadline
	makeDeadlineCause
	makeTimeout
	makeTimeoutCause
	makeValue
	makeShield // WithoutCancel
	makeWrapper
	makeUser
	makeHook  // AfterFunc
	makeShort // a context with a short deadline, and contexts below it
	doCancel
	doEnd   // end a user's context, or close the channel of a wrapper
	doStop  // the stop function of an AfterFunc
	doAsk   // ask one context
	doHold  // call Done and keep the channel
	doCheck // ask all contexts
	doQuiet // ask, and check that Err of no user's context is called for it
)

// often is the relative frequency of each action.
var often = [...]int{
	makeCancel:        6,
	makeCancelCause:   5,
	makeDeadline:      4,
	makeDeadlineCause: 4,
	makeTimeout:       3,
	makeTimeoutCause:  3,
	makeValue:         2,
	makeShield:        1,
	makeWrapper:       8,
	makeUser:          3,
	makeHook:          4,
	makeShort:         1,
	doCancel:          7,
	doEnd:             4,
	doStop:            3,
	doAsk:             6,
	doHold:            3,
	doCheck:           2,
	doQuiet:           2,
}

// actions has each action as many times as often has for it.
var actions = func() (all []action) {
	for a, n := range often {
		all = append(all, slices.Repeat([]action{action(a)}, n)...)
	}
	return all
}()

// step is one step of a program. The meaning of its numbers depends on the action. All numbers
// are valid.
type step struct {
	action action
	target byte // selects the context, see choose
	detail byte // selects a variant
	pick   byte // bit 0 selects the maker
}

const stepBytes = 4

// program is decoded from bytes, as a fuzzer makes them. All bytes are valid.
type program []step

// maxSteps is the length of the longest program.
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

// choose returns an index less than n. Half of all numbers select one of the last four. It
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

// shrink removes steps from p as long as it still fails, at most until limit.
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
