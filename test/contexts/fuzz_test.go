package contexts

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// compare runs a program with standard contexts, and then with each of subjects. It returns an
// error if a subject observes other results. A subject waits for each condition at most limit.
func compare(p program, limit time.Duration, subjects ...makers) error {
	watchdog := time.AfterFunc(10**patience, func() {
		panic(fmt.Sprintf("a program does not end: %q", p.encode()))
	})
	defer watchdog.Stop()
	base := time.Now()
	reference := &tree{makers: allStandard, base: base, patience: *patience}
	if err := reference.run(p); err != nil {
		return fmt.Errorf("the reference: %w", err)
	}
	for _, m := range subjects {
		t := &tree{makers: m, base: base, patience: limit, reference: reference.trace}
		if err := t.run(p); err != nil {
			return err
		}
	}
	return nil
}

func FuzzContexts(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(randomBytes(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := compare(decode(data), *patience, allFoliot, mixed, withRuntime); err != nil {
			t.Fatal(err)
		}
	})
}

// comparePrograms compares random programs until limit, at least 100 of them.
func comparePrograms(t *testing.T, limit time.Time, subjects ...makers) {
	t.Helper()
	seed := *seedFlag
	for ; seed < *seedFlag+100 || time.Now().Before(limit); seed++ {
		p := decode(randomBytes(seed))
		err := compare(p, *patience, subjects...)
		if err == nil {
			continue
		}
		p = p.shrink(func(p program) bool {
			return compare(p, 200*time.Millisecond, subjects...) != nil
		}, time.Now().Add(*patience))
		if e := compare(p, time.Second, subjects...); e != nil {
			err = e
		}
		t.Fatalf("seed %d: %v\nas an input of FuzzContexts: %q", seed, err, p.encode())
	}
	t.Logf("%d programs", seed-*seedFlag)
}

func TestContextsBehaveLikeStandardOnes(t *testing.T) {
	comparePrograms(t, time.Now().Add(share(1)), allFoliot, mixed, withRuntime)
}

func TestStandardContextsBehaveLikeThemselves(t *testing.T) {
	wrapped := standardMaker
	wrapAll(&wrapped, func(ctx, _ context.Context) context.Context { return plainWrapper{ctx} })
	comparePrograms(t, time.Now().Add(share(10)), allStandard, makers{&standardMaker, &wrapped})
}

// In a bubble, package context uses the standard functions.
func TestContextsInABubbleBehaveLikeStandardOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := *seedFlag; seed < *seedFlag+30; seed++ {
			if err := compare(decode(randomBytes(seed)), *patience, allFoliot, mixed); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	})
}
