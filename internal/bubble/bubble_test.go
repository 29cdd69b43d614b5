package bubble

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestCurrentTellsBubblesApart(t *testing.T) {
	if got := Current(); got != "" || Read(time.Now()) {
		t.Errorf("outside of any bubble Current is %q", got)
	}
	var names []string
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			name := Current()
			names = append(names, name)
			if !Read(time.Now()) {
				t.Error("a time that was read in a bubble is taken for another")
			}
			done := make(chan string)
			go func() { done <- Current() }()
			if got := <-done; got != name {
				t.Errorf("a goroutine of the bubble %q is in %q", name, got)
			}
		})
	}
	if names[0] == "" || names[0] == names[1] {
		t.Errorf("the bubbles are called %q", names)
	}
}
