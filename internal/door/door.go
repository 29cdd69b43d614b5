// Package door is how the drop-in packages reach what package foliot does for them and
// for nobody else. Package foliot puts its functions here when it is initialised, and the
// drop-ins take them out with types that both know and this package does not. A function
// that does not fit is found out before main begins.
package door

import "time"

// The methods of a drop-in timer, see dropin.go of package foliot.
var Arm, Rearm, Stop, GrowUp, Again, Placed any

// A Young is a timer with a channel that was made lately.
type Young interface {
	// GrowUp has the timer hold on to its channel by a weak pointer from now on. It is called
	// once, while the timer is armed, and the caller holds the lock of its shard.
	GrowUp()
}

// A Beat is when a ticker is due next, in nanoseconds on the clock of the default runtime,
// and after what time again. It belongs to the holder of the lock of the timer's shard.
type Beat struct {
	Due    int64
	Period time.Duration
}
