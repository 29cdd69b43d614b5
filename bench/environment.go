package bench

import (
	"runtime"
	"time"
)

func environment(o Options) Environment {
	mode := Quick
	if o.Full {
		mode = Full
	}
	m := machine()
	return Environment{
		Foliot: moduleVersion(foliotModule),
		Go:     runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPU: m.cpu, Kernel: m.kernel, Memory: m.memory,
		Cores: runtime.NumCPU(), Procs: runtime.GOMAXPROCS(0),
		When: time.Now().UTC().Truncate(time.Second),
		Mode: mode, Timers: o.Timers, Rounds: o.Rounds,
	}
}

// A host is what is known about the machine.
type host struct {
	cpu, kernel string
	memory      int64
}
