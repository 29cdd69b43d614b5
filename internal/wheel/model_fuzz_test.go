package wheel_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func FuzzWheel(f *testing.F) {
	setup := []op{
		{code: opSchedule, kind: whenClose, b: 3},
		{code: opSchedule, kind: whenFar, a: 12, b: 5},
		{code: opScheduleManyOnOneTick, kind: whenNear, a: 1, b: 7, c: 40},
		{code: opScheduleMany, kind: whenClose, b: 1, c: 80},
	}
	after := []op{{code: opAdvanceToNext, c: 3}, {code: opAdvance, kind: whenFar, a: 20, b: 1}}
	for code := range opCodes {
		for kind := range byte(whenKinds) {
			f.Add([]byte(makeProgram(kind, append(append(setup[:4:4], op{code, kind, 9, 2, 8}), after...)...)))
		}
	}
	// Each operation in the body of Advance and of Drain, with each way to leave the loop.
	for code := range opCodes {
		for exit := byte(exitNone); exit <= exitGoexit; exit++ {
			for _, outer := range []op{{code: opAdvance, kind: whenFar, a: 16, b: 1}, {code: opDrain}} {
				outer.c = 4<<4 | exit<<2 | 1
				body := op{code, byte(code) % whenKinds, 2, exit, 4}
				f.Add([]byte(makeProgram(exit, append(append(setup[:4:4], outer, body), after...)...)))
			}
		}
	}
	// Each way to park entries, before each operation, and again after they were armed again.
	for _, park := range []op{
		{code: opReserve},
		{code: opPark, c: 9},
		{code: opParkMany, b: 1, c: 200},
		{code: opPop, kind: whenFar, a: 16, b: 1, c: 5 << 4},
		{code: opPop, kind: whenFar, a: 8, b: 3, c: 7<<4 | 4 | popInTurn},
	} {
		for code := range opCodes {
			again := []op{{code: opRescheduleMany, kind: whenNear, a: 3, b: 2, c: 150}, park}
			f.Add([]byte(makeProgram(0, slices.Concat(setup, []op{park, {code, whenClose, 2, 2, 255}}, again, after)...)))
		}
	}
	for seed := range uint64(8) {
		f.Add([]byte(randomProgram(rand.New(rand.NewPCG(seed, 0)), 40, mixed)))
	}
	lim := limits{live: 400, many: 150, work: 3000}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := program(data[:min(len(data), 1+60*opSize)])
		run := runPlain
		if p.start()&128 != 0 {
			run = runPointers
		}
		watchdog := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("the program hangs:\n%v", p)) })
		defer watchdog.Stop()
		if err := run(p, lim); err != nil {
			t.Fatalf("%v\n%v", err, p)
		}
	})
}
