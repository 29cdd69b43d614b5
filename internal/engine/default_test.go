package engine

import (
	"testing"
	"testing/synctest"
)

// Many programs import the engine and never use the default one.
func TestBeforeItsFirstUseTheDefaultEngineHasNoShardsAndNoTimers(t *testing.T) {
	eng := newEngine(Config{stdOnly: true})
	if eng.shards.Load() != nil || eng.workers.Load() != nil {
		t.Error("there are workers or shards")
	}
	k := &eng.timekeeper
	for name, timer := range map[string]*stdTimer{"std": &k.std, "watchdog": &k.watchdog, "park": &k.park, "scrubber": &eng.scrubber.timer} {
		for i, std := range timer.timers {
			if std != nil {
				t.Errorf("%s: standard timer %d exists", name, i)
			}
		}
	}
}

func TestAnEngineThatIsCompletedInABubbleBelongsToNone(t *testing.T) {
	eng := newEngine(Config{stdOnly: true})
	synctest.Test(t, func(t *testing.T) {
		eng.makeShards()
		if _, err := eng.AfterFunc(1, func() {}); err != errBubble {
			t.Errorf("AfterFunc in a bubble returns %v, want %v", err, errBubble)
		}
	})
	fired := make(chan struct{})
	if _, err := eng.AfterFunc(1, func() { close(fired) }); err != nil {
		t.Fatal(err)
	}
	<-fired
}
