package loop_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// FuzzLoop runs programs on a loop and on the reference, and compares the traces. The
// corpus has each operation outside of the loop, in a callback of CallSoon and in a
// timer, together with other callbacks that it could disturb.
func FuzzLoop(f *testing.F) {
	outside := []op{{opSoon, 0, 0}, {opSoon, 1, 0}, {opLater, 0, 1}, {opLater, 2, 3}, {opAt, 1, 4}, {opPost, 2, 0}}
	for code := range opCodes {
		for a := range byte(4) {
			o := op{code, a * 4, a*5 + 1}
			here := append(outside[:6:6], o, op{opStep, 0, 0}, op{opSoon, 3, 0}, op{opRun, 0, 0})
			there := []op{{opLater, 3, a}, o, {opSoon, 4, 0}, {opCancelRecent, 0, a}}
			f.Add([]byte(encode(a, here, there, []op{o}, []op{{opLater, 4, 2}, o}, []op{{opQuery, 0, a}})))
		}
	}
	for seed := range uint64(8) {
		f.Add([]byte(randomProgram(rand.New(rand.NewPCG(seed, 0)))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := program(data[:min(len(data), 1+100*programOpSize)])
		start := time.Duration(0)
		if p.setup()&128 != 0 {
			start = hour
		}
		hangs := time.AfterFunc(testkit.Timeout, func() { panic(fmt.Sprintf("the program does not end:\n%v", p)) })
		defer hangs.Stop()
		if err := difference(runLoop(p, true, start), runReference(p, true, start)); err != nil {
			t.Fatalf("%v\n%v", err, p)
		}
	})
}
