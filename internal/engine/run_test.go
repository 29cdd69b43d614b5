package engine

import (
	"runtime"
	"testing"
	"time"
)

func TestOnlyAWorkerThatIsBehindAsksForHelp(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for name, c := range map[string]struct {
		config Config
		behind bool
		want   int64
	}{
		"behind":     {Config{Workers: 4}, true, 3},
		"not behind": {Config{Workers: 4}, false, 0},
		"processors": {Config{Workers: 8}, true, 7 + helpAhead},
		"one worker": {Config{Workers: 1}, true, 0},
		"manual":     {Config{Workers: 4, Manual: NewManualClock(time.Time{})}, true, 0},
		"Config.Go":  {Config{Workers: 4, Go: func(f func()) { f() }}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			eng, err := New(c.config)
			if err != nil {
				t.Fatal(err)
			}
			w := (*eng.workers.Load())[0]
			turn := w.newTurn(w.claim(eng.Now(), 0))
			turn.help = 7
			turn.askForHelp(c.behind)
			if turn.help != c.want {
				t.Errorf("%d callbacks may run apart, want %d", turn.help, c.want)
			}
			w.release(turn.claim)
		})
	}
}
