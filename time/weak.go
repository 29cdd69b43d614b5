package time

import (
	"runtime"
	"unsafe"
	"weak"

	"github.com/foliot-go/foliot"
)

// A remoteChan is a channel that may be collected. A channel is a pointer to what the
// runtime keeps for it, and there are weak pointers to that as to anything else; only the
// type has to be made up.
type remoteChan struct {
	p weak.Pointer[hchan]
}

// A hchan stands for what the runtime keeps for a channel. There is more to it.
type hchan struct {
	_ uintptr
}

func pointer(c <-chan Time) *hchan {
	return *(**hchan)(unsafe.Pointer(&c))
}

func remote(c <-chan Time) remoteChan {
	return remoteChan{weak.Make(pointer(c))}
}

// channel returns the channel, or nil if nobody refers to it any more.
func (r remoteChan) channel() chan Time {
	p := r.p.Value()
	return *(*chan Time)(unsafe.Pointer(&p))
}

// freeWith has the timer freed when its channel is collected.
func freeWith(c <-chan Time, at foliot.Timer) {
	runtime.AddCleanup(pointer(c), func(at foliot.Timer) { at.Free() }, at)
}
