package time

import (
	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/door"
)

// What package foliot does for this one. The *foliot.Timer is where a timer is now; it
// belongs to package foliot.
var (
	// arm makes a timer that runs f after d, on a goroutine of its own, or sends the time on
	// c if that is not nil, and again after every period, if there is one. It answers false,
	// and does nothing, in a synctest bubble.
	arm = door.Arm.(func(at *foliot.Timer, d Duration, f func(), c chan Time, period Duration) bool)

	// rearm arms one anew, and takes back the value in c. It answers not ok, and does nothing,
	// in a synctest bubble.
	rearm = door.Rearm.(func(at *foliot.Timer, d Duration, f func(), c chan Time, period Duration) (was, ok bool))

	// stop calls one off, and takes back the value in c.
	stop = door.Stop.(func(at *foliot.Timer, c <-chan Time) bool)

	// placed tells whether arm has answered true.
	placed = door.Placed.(func(at *foliot.Timer) bool)
)
