package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

// simulated returns the report of a simulation with the given flags.
func simulated(t *testing.T, args string) report {
	t.Helper()
	c, err := parse(strings.Fields(args), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulate(c)
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return r
}

func TestTheSameSeedGivesTheSameTrace(t *testing.T) {
	first := simulated(t, "-seed 7 -for 40s")
	if first.events < 1000 || first.lost == 0 || first.resent == 0 {
		t.Errorf("not much happened: %+v", first)
	}
	for range 9 {
		if r := simulated(t, "-seed 7 -for 40s"); r != first {
			t.Fatalf("first %+v\nthen  %+v", first, r)
		}
	}
}

func TestAnotherSeedGivesAnotherTrace(t *testing.T) {
	hashes := map[uint64]string{}
	for _, seed := range []string{"1", "2", "3", "4", "5"} {
		h := simulated(t, "-for 30s -seed "+seed).hash
		if other, ok := hashes[h]; ok {
			t.Errorf("seeds %s and %s: both %016x", seed, other, h)
		}
		hashes[h] = seed
	}
}

func TestAnHourPasses(t *testing.T) {
	if r := simulated(t, "-for 1h -every 6m"); r.simulated < time.Hour || r.rumours < 9*7 {
		t.Errorf("%+v", r)
	}
}

func TestNothingIsSentAgainWithoutLoss(t *testing.T) {
	if r := simulated(t, "-loss 0 -for 1m"); r.resent != 0 || r.duplicates != 0 || r.lost != 0 || r.arrived == 0 {
		t.Errorf("%+v", r)
	}
}

// The timeout is longer than a packet and its acknowledgement take, so exactly one packet is
// resent for each that is lost.
func TestEachLostPacketIsResentOnce(t *testing.T) {
	if r := simulated(t, "-loss 0.3 -for 40s"); r.resent != r.lost || r.lost == 0 {
		t.Errorf("%+v", r)
	}
}

// The latency is longer than the timeout, so packets are resent although none is lost.
func TestPacketsThatArriveTwiceAreAcceptedOnce(t *testing.T) {
	if r := simulated(t, "-latency 400ms -jitter 1s -loss 0 -for 1m"); r.duplicates == 0 || r.lost != 0 {
		t.Errorf("%+v", r)
	}
}

func TestRumoursReachAllNodesOfAnyNetwork(t *testing.T) {
	for _, args := range []string{
		"-nodes 2", "-nodes 3", "-nodes 4", "-nodes 20 -every 20s",
		"-latency 0 -jitter 0", "-loss 0.9 -every 20s",
	} {
		if r := simulated(t, args+" -for 30s"); r.rumours == 0 {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

func TestTheTraceShowsEveryEvent(t *testing.T) {
	c, err := parse(strings.Fields("-for 20s -trace"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	c.traceOut = &out
	r, err := simulate(c)
	if lines := strings.Count(out.String(), "\n"); err != nil || lines != r.events || lines == 0 {
		t.Errorf("%d lines, %d events, %v", lines, r.events, err)
	}
}

func TestTheReportIsPrinted(t *testing.T) {
	var out strings.Builder
	if err := run(strings.Fields("-for 20s -nodes 5"), &out); err != nil || !strings.Contains(out.String(), "each heard of by all nodes") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestInvalidFlagsAreErrors(t *testing.T) {
	for _, args := range []string{"-nodes 1", "-for 0s", "-every 0s", "-latency -1s", "-jitter -1s", "-loss 1", "-loss -1", "-loss NaN", "-no-such-flag", "extra"} {
		if err := run(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
