package context_test

import (
	std "context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot-go/foliot/context"
)

// A twin is one context of a tree that is made twice: once of standard contexts alone, once of standard and our own as it
// comes. Both must look the same from outside.
type twin struct {
	want, got             std.Context
	cancelWant, cancelGot func(error)
	above                 *twin
	kind                  kind
}

// A kind says of which package the context that can be cancelled is.
type kind uint8

const (
	passive  kind = iota // neither: it ends with the one above
	standard             // in both trees
	own                  // in one tree
)

// told tells whether x is told at once when top, which is above it, ends. That is so but where a standard context is below one of
// ours which is below a standard one: nothing tells ours but a goroutine.
func (x *twin) told(top *twin) bool {
	standardBelow, crossing := false, false
	for y := x; ; y = y.above {
		switch y.kind {
		case standard:
			if crossing {
				return false
			}
			standardBelow = true
		case own:
			crossing = standardBelow
		}
		if y == top {
			return true
		}
	}
}

// A grove is a tree of twins.
type grove struct {
	t     *testing.T
	rng   *rand.Rand
	twins []*twin
	log   []string
}

func (g *grove) add(above *twin, want, got std.Context, cancelWant, cancelGot func(error), k kind) *twin {
	x := &twin{want, got, cancelWant, cancelGot, above, k}
	g.twins = append(g.twins, x)
	return x
}

// plain makes a CancelFunc a CancelCauseFunc that does not mind the cause.
func plain(f std.CancelFunc) func(error) { return func(error) { f() } }

// grow derives a twin. Deadlines are d from now, the same in both trees.
func (g *grove) grow(above *twin, d time.Duration) *twin {
	at := time.Now().Add(d)
	var cause error
	if g.rng.IntN(2) == 0 {
		cause = &failure{fmt.Sprint("late ", len(g.twins))}
	}
	n := g.rng.IntN(8)
	g.log = append(g.log, fmt.Sprintf("%d: kind %d below %d, %v, cause %v", len(g.twins), n, g.index(above), d, cause))
	switch n {
	case 0:
		want, cancelWant := std.WithCancelCause(above.want)
		got, cancelGot := std.WithCancelCause(above.got)
		return g.add(above, want, got, cancelWant, cancelGot, standard)
	case 1:
		want, cancelWant := std.WithCancel(above.want)
		got, cancelGot := context.WithCancel(above.got)
		return g.add(above, want, got, plain(cancelWant), plain(cancelGot), g.below(above))
	case 2:
		want, cancelWant := std.WithCancelCause(above.want)
		got, cancelGot := context.WithCancelCause(above.got)
		return g.add(above, want, got, cancelWant, cancelGot, g.below(above))
	case 3:
		want, cancelWant := std.WithDeadlineCause(above.want, at, cause)
		got, cancelGot := std.WithDeadlineCause(above.got, at, cause)
		return g.add(above, want, got, plain(cancelWant), plain(cancelGot), standard)
	case 4:
		return g.add(above, std.WithValue(above.want, testKey("k"), n), std.WithValue(above.got, testKey("k"), n), nil, nil, passive)
	case 5:
		return g.add(above, wrapper{above.want}, wrapper{above.got}, nil, nil, passive)
	default:
		k := own
		if sooner, ok := above.want.Deadline(); ok && sooner.Before(at) {
			k = g.below(above)
		}
		want, cancelWant := std.WithDeadlineCause(above.want, at, cause)
		got, cancelGot := context.WithDeadlineCause(above.got, at, cause)
		return g.add(above, want, got, plain(cancelWant), plain(cancelGot), k)
	}
}

// below is the kind that WithCancel of our package makes.
func (g *grove) below(x *twin) kind {
	for x.kind == passive && x.above != nil {
		x = x.above
	}
	if x.kind == own {
		return own
	}
	return standard
}

func (g *grove) index(x *twin) int {
	for i, y := range g.twins {
		if x == y {
			return i
		}
	}
	return -1
}

// under tells whether x is top or below it.
func (x *twin) under(top *twin) bool {
	return x == top || x.above != nil && x.above.under(top)
}

// check compares the trees. What was not told at once may take its time.
func (g *grove) check(when string, top *twin) {
	g.t.Helper()
	for i, x := range g.twins {
		if x.want.Err() != nil && (top == nil || !x.under(top) || !x.told(top)) && x.got.Done() != nil {
			await(g.t, fmt.Sprintf("%s: context %d\n%v", when, i, g.log), x.got)
		}
		want := fmt.Sprint(isDone(x.want), x.want.Err(), std.Cause(x.want), nameOf(x.want), x.want.Value(testKey("k")))
		got := fmt.Sprint(isDone(x.got), x.got.Err(), std.Cause(x.got), nameOf(x.got), x.got.Value(testKey("k")))
		if want != got || std.Cause(x.want) != std.Cause(x.got) {
			g.t.Fatalf("%s: context %d is %s, want %s\n%v", when, i, got, want, g.log)
		}
	}
}

func TestMixedTreesLookLikeStandardOnes(t *testing.T) {
	trees := 100
	if testing.Short() {
		trees = 20
	}
	for seed := range trees {
		g := &grove{t: t, rng: rand.New(rand.NewPCG(uint64(seed), 1))}
		g.log = append(g.log, fmt.Sprint("seed ", seed))
		root := g.add(nil, std.Background(), std.Background(), nil, nil, passive)
		if g.rng.IntN(2) == 0 {
			want, cancelWant := std.WithCancelCause(root.want)
			got, cancelGot := std.WithCancelCause(root.got)
			g.add(root, want, got, cancelWant, cancelGot, standard)
		}
		for step := range 30 {
			x := g.twins[g.rng.IntN(len(g.twins))]
			when := fmt.Sprintf("seed %d, step %d", seed, step)
			switch n := g.rng.IntN(20); {
			case n < 14:
				g.grow(x, hour+time.Duration(g.rng.IntN(1000))*time.Second)
				if n < 4 { // otherwise nobody has waited for anything yet
					g.check(when, nil)
				}
			case n < 15:
				g.grow(x, -1)
			case n < 16: // time runs out with a tree below
				late := g.grow(x, millisecond)
				for range g.rng.IntN(4) {
					late = g.grow(late, 2*hour)
				}
				if deadline, ok := late.want.Deadline(); ok && time.Until(deadline) < time.Minute {
					await(t, when+", the model", late.want)
					for y := late; y != nil && y.want.Done() != nil; y = y.above {
						if y.want.Err() != nil {
							await(t, when, y.got)
						}
					}
				}
				g.check(when, nil)
			case x.cancelWant != nil:
				cause := &failure{when}
				g.log = append(g.log, fmt.Sprintf("cancel %d", g.index(x)))
				x.cancelWant(cause)
				x.cancelGot(cause)
				g.check(when, x)
			}
		}
		for _, x := range g.twins {
			if x.cancelWant != nil {
				x.cancelWant(nil)
				x.cancelGot(nil)
			}
		}
		g.check(fmt.Sprintf("seed %d, at the end", seed), nil)
	}
}
