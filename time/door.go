package time

import (
	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/door"
)

// What package foliot does for drop-in timers. The *foliot.Timer is where a timer is now.
// The func is what it runs; it is read with the lock of its shard held.
var (
	placed = door.Placed.(func(at *foliot.Timer) bool)
	arm    = door.Arm.(func(at *foliot.Timer, d Duration, f *func(), y door.Young, b *door.Beat) bool)
	rearm  = door.Rearm.(func(at *foliot.Timer, d Duration, f *func(), y door.Young, b *door.Beat, c <-chan Time) (was, ok bool))
	stop   = door.Stop.(func(at *foliot.Timer, c <-chan Time) bool)
	growUp = door.GrowUp.(func(at *foliot.Timer, f func()))
	again  = door.Again.(func(at *foliot.Timer, b *door.Beat))
)
