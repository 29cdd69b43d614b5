package kvstore

import (
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/testkit"
)

// walkLetters are the calls of actors, see world.call.
const walkLetters = "sSRcCg"

// pairs returns scenarios with two actors that make one call each.
func pairs(c scenario) (all []scenario) {
	for i, a := range interleave.Scripts(walkLetters, 1) {
		for _, b := range interleave.Scripts(walkLetters, 1)[i:] {
			c.actors = []interleave.Script{a, b}
			all = append(all, c)
		}
	}
	return all
}

// triples returns scenarios with three actors that make one call each.
func triples(c scenario) (all []scenario) {
	scripts := interleave.Scripts(walkLetters, 1)
	for i, a := range scripts {
		for j, b := range scripts[i:] {
			for _, d := range scripts[i+j:] {
				c.actors = []interleave.Script{a, b, d}
				all = append(all, c)
			}
		}
	}
	return all
}

// scripts returns scenarios with one actor that makes two calls and one that makes one.
func scripts(c scenario) (all []scenario) {
	for _, a := range interleave.Scripts(walkLetters, 2) {
		for _, b := range interleave.Scripts("sc", 1) {
			c.actors = []interleave.Script{a, b}
			all = append(all, c)
		}
	}
	return all
}

// walkAll walks through all scenarios, or through some of them with -short.
func walkAll(t *testing.T, all []scenario) {
	testkit.SkipUnderRace(t, "one goroutine runs at a time")
	stride := 1
	if testing.Short() {
		stride = 29
	}
	paths, walked := 0, 0
	for i := 0; i < len(all); i += stride {
		n, err := all[i].walk(t, sound)
		if err != nil {
			t.Fatal(err)
		}
		paths += n
		walked++
	}
	t.Logf("%d paths of %d scenarios", paths, walked)
}

func TestWalkOfTwoActors(t *testing.T) {
	t.Parallel()
	walkAll(t, append(
		pairs(scenario{results: "d", clock: 1}),
		pairs(scenario{before: "s", results: "fd", clock: 2})...,
	))
}

func TestWalkOfTwoActorsAndAPostponedTimer(t *testing.T) {
	t.Parallel()
	walkAll(t, pairs(scenario{before: "s", results: "pd", clock: 2}))
}

func TestWalkOfTwoActorsAndACrash(t *testing.T) {
	t.Parallel()
	walkAll(t, append(
		pairs(scenario{results: "d", clock: 1, crashes: 1}),
		pairs(scenario{before: "s", results: "d", clock: 1, crashes: 1})...,
	))
}

func TestWalkOfOneActorAndTwoCrashes(t *testing.T) {
	t.Parallel()
	var all []scenario
	for _, a := range interleave.Scripts(walkLetters, 1) {
		all = append(all,
			scenario{before: "s", actors: []interleave.Script{a}, results: "fd", clock: 2, crashes: 1},
			scenario{before: "s", actors: []interleave.Script{a}, results: "pd", clock: 2, crashes: 1},
			scenario{before: "s", actors: []interleave.Script{a}, results: "d", clock: 1, crashes: 2},
		)
	}
	walkAll(t, all)
}

func TestWalkOfThreeActors(t *testing.T) {
	t.Parallel()
	walkAll(t, triples(scenario{before: "s", results: "d", clock: 1}))
}

func TestWalkOfLongerScripts(t *testing.T) {
	t.Parallel()
	walkAll(t, append(
		scripts(scenario{before: "s", results: "d", clock: 1}),
		scripts(scenario{results: "d", clock: 1})...,
	))
}

// TestWalkWithASmallCache is not parallel: the size of the cache is that of all stores.
func TestWalkWithASmallCache(t *testing.T) {
	walkAll(t, append(
		pairs(scenario{before: "s", results: "fd", clock: 2, small: true}),
		pairs(scenario{results: "d", clock: 1, crashes: 1, small: true})...,
	))
}

func TestWalkOfAPeriodicTimer(t *testing.T) {
	t.Parallel()
	var all []scenario
	for _, a := range interleave.Scripts("spRcCg", 1) {
		all = append(all,
			scenario{before: "p", actors: []interleave.Script{a}, results: "fd", clock: 3},
			scenario{before: "p", actors: []interleave.Script{a}, results: "pd", clock: 3},
			scenario{before: "p", actors: []interleave.Script{a}, results: "d", clock: 1, crashes: 1},
			scenario{before: "q", actors: []interleave.Script{a}, results: "fd", clock: 2},
			scenario{before: "q", actors: []interleave.Script{a}, results: "e", clock: 2},
			scenario{before: "q", actors: []interleave.Script{a}, results: "de", clock: 2},
			scenario{before: "p", actors: []interleave.Script{a}, results: "e", clock: 1, crashes: 1},
			scenario{before: "q", actors: []interleave.Script{a, "c"}, results: "d", clock: 2},
		)
	}
	walkAll(t, all)
}
