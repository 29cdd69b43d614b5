// Package door is how the drop-in package time reaches what package foliot does for it
// and for nobody else. Package foliot puts its functions here when it is initialised, and
// package time takes them out with types that both know and this package does not. A
// function that does not fit is found out before main begins.
package door

// The methods of a drop-in timer, see dropin.go of package foliot.
var Arm, Rearm, Stop, Placed any
