package context_test

import (
	std "context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/context"
)

// A pair is a context of a tree that is made twice: once of standard contexts, and once of standard contexts, those of
// this package and those of a runtime. Both must look the same from outside.
type pair struct {
	want, got             std.Context
	cancelWant, cancelGot func(error)
	above                 *pair
	kind                  kind
}

// A kind is the package of a context in the second tree.
type kind uint8

const (
	passive  kind = iota // a wrapper: it ends with the one above
	standard             // the standard package
	own                  // this package, or a runtime
)

// told reports whether x ends at once when top ends, which is above it. A standard context below one of this package below a
// standard one does not: a goroutine tells the one in the middle.
func (x *pair) told(top *pair) bool {
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

// A pairTree is a tree of pairs.
type pairTree struct {
	t     *testing.T
	rt    *foliot.Runtime
	rng   *rand.Rand
	pairs []*pair
	log   []string
}

func (g *pairTree) add(above *pair, want, got std.Context, cancelWant, cancelGot func(error), k kind) *pair {
	x := &pair{want, got, cancelWant, cancelGot, above, k}
	g.pairs = append(g.pairs, x)
	return x
}

// plain makes a CancelCauseFunc that ignores the cause.
func plain(f std.CancelFunc) func(error) { return func(error) { f() } }

// derive adds a pair below another. A deadline is d from now, the same in both trees.
func (g *pairTree) derive(above *pair, d time.Duration) *pair {
	at := time.Now().Add(d)
	var cause error
	if g.rng.IntN(2) == 0 {
		cause = &failure{fmt.Sprint("late ", len(g.pairs))}
	}
	n := g.rng.IntN(8)
	g.log = append(g.log, fmt.Sprintf("%d: kind %d below %d, %v, cause %v", len(g.pairs), n, g.index(above), d, cause))
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
		with := context.WithDeadlineCause
		if n == 6 {
			with = g.rt.WithDeadlineCause
		}
		want, cancelWant := std.WithDeadlineCause(above.want, at, cause)
		got, cancelGot := with(above.got, at, cause)
		return g.add(above, want, got, plain(cancelWant), plain(cancelGot), k)
	}
}

// below returns the kind of a context that WithCancel of this package makes.
func (g *pairTree) below(x *pair) kind {
	for x.kind == passive && x.above != nil {
		x = x.above
	}
	if x.kind == own {
		return own
	}
	return standard
}

func (g *pairTree) index(x *pair) int {
	for i, y := range g.pairs {
		if x == y {
			return i
		}
	}
	return -1
}

// under reports whether x is top or below it.
func (x *pair) under(top *pair) bool {
	return x == top || x.above != nil && x.above.under(top)
}

// check compares the trees. It waits for contexts that do not end at once with top.
func (g *pairTree) check(when string, top *pair) {
	g.t.Helper()
	for i, x := range g.pairs {
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
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Shutdown(std.Background())
	for seed := range trees {
		g := &pairTree{t: t, rt: rt, rng: rand.New(rand.NewPCG(uint64(seed), 1))}
		g.log = append(g.log, fmt.Sprint("seed ", seed))
		root := g.add(nil, std.Background(), std.Background(), nil, nil, passive)
		if g.rng.IntN(2) == 0 {
			want, cancelWant := std.WithCancelCause(root.want)
			got, cancelGot := std.WithCancelCause(root.got)
			g.add(root, want, got, cancelWant, cancelGot, standard)
		}
		for step := range 30 {
			x := g.pairs[g.rng.IntN(len(g.pairs))]
			when := fmt.Sprintf("seed %d, step %d", seed, step)
			switch n := g.rng.IntN(20); {
			case n < 14:
				g.derive(x, hour+time.Duration(g.rng.IntN(1000))*time.Second)
				if n < 4 { // otherwise Done is not called yet
					g.check(when, nil)
				}
			case n < 15:
				g.derive(x, -1)
			case n < 16: // a deadline passes, with contexts below
				late := g.derive(x, millisecond)
				for range g.rng.IntN(4) {
					late = g.derive(late, 2*hour)
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
		for _, x := range g.pairs {
			if x.cancelWant != nil {
				x.cancelWant(nil)
				x.cancelGot(nil)
			}
		}
		g.check(fmt.Sprintf("seed %d, at the end", seed), nil)
	}
}
