//go:build !unix

package natsserver

import "os"

// Processes of this system can be killed only.
var terminate, stopSignal, continueSignal os.Signal = os.Kill, os.Kill, os.Kill
