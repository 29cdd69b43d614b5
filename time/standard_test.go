package time_test

import (
	"testing"
	std "time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/time"
)

var _ *std.Ticker = (*time.Ticker)(nil)

func TestChannelTimersAndSleepAreThoseOfTheStandardPackage(t *testing.T) {
	before := foliot.Default().Stats()
	timer, ticker := time.NewTimer(time.Millisecond), time.NewTicker(time.Millisecond)
	defer timer.Stop()
	defer ticker.Stop()
	for name, c := range map[string]<-chan time.Time{
		"NewTimer": timer.C, "NewTicker": ticker.C, "After": time.After(1), "Tick": time.Tick(time.Millisecond),
	} {
		time.Sleep(2 * time.Millisecond)
		if len(c) != 0 || cap(c) != 0 {
			t.Errorf("%s: len and cap of the channel are %d and %d, want 0", name, len(c), cap(c))
		}
		<-c
	}
	if after := foliot.Default().Stats(); after.Armed != before.Armed || after.Fired != before.Fired {
		t.Error("a channel timer, a ticker or Sleep has used the default runtime")
	}
}
