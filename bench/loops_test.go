package bench

import (
	"context"
	"testing"
	"time"
)

func TestEveryEventLoopDoesAllItsWork(t *testing.T) {
	s := testRun(1)
	for _, l := range s.loops("std") {
		t.Run(l.name, func(t *testing.T) {
			const from, to = time.Millisecond, 10 * time.Millisecond
			for work, do := range map[string]func() (time.Duration, error){
				"register": func() (time.Duration, error) { return l.register(100) },
				"soon":     func() (time.Duration, error) { return l.soon(3000) },
				"chain":    func() (time.Duration, error) { return l.chain(100) },
				"post":     func() (time.Duration, error) { return l.post(96, 8) },
			} {
				if took, err := do(); err != nil && err != errUnsupported || err == nil && took <= 0 {
					t.Errorf("%s: %v, error %v", work, took, err)
				}
			}
			took, err := l.delays(10, from, to)
			if err != nil {
				t.Errorf("delays: error %v", err)
			}
			if c, _ := findContender(l.name); took < to && c.Kind != External {
				t.Errorf("the last timer, of %v, fired after %v", to, took)
			}
			late, err := l.late(20, from, to)
			if err != nil && err != errUnsupported || err == nil && len(late) != 20 {
				t.Errorf("late: %v, error %v", late, err)
			}
			for _, d := range late {
				if l.name == "loop" && d < 0 {
					t.Errorf("a timer of the loop fired %v early", -d)
				}
			}
		})
	}
	if took, err := (foliotLoop{context.Background()}).postBatch(250); err != nil || took <= 0 {
		t.Errorf("post in batches: %v, error %v", took, err)
	}
}

func TestAScriptThatFailsSaysWhy(t *testing.T) {
	if scriptVersion("asyncio") == "" {
		t.Skip("no python3")
	}
	if a, err := runScript(context.Background(), "asyncio", "no-such-work", 1); err == nil {
		t.Errorf("no error, answer %+v", a)
	}
}
