//go:build !unix

package natstest

import "os"

// Processes of this system can be killed only.
var terminate, stopSignal, continueSignal os.Signal = os.Kill, os.Kill, os.Kill
