package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// listFlags are the flags of the commands that list timers, of a folder or of a server.
type listFlags struct {
	prefix, kind string
	from, to     string
	byDue        bool
	limit        int
}

func (f *listFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.prefix, "prefix", "", "only IDs that begin so")
	flags.StringVar(&f.kind, "kind", "", "only timers of this kind")
	flags.StringVar(&f.from, "from", "", "only timers that are due at this time or later")
	flags.StringVar(&f.to, "to", "", "only timers that are due before this time")
	flags.BoolVar(&f.byDue, "by-due", false, "order by time, then ID")
	flags.IntVar(&f.limit, "limit", 0, "the largest number of timers to list; 0: all")
}

// times checks the flags and returns the times of --from and --to.
func (f *listFlags) times(now time.Time) (from, to time.Time, err error) {
	if from, err = parseWhen("from", f.from, now); err != nil {
		return from, to, err
	}
	if to, err = parseWhen("to", f.to, now); err != nil {
		return from, to, err
	}
	if f.limit < 0 {
		err = fmt.Errorf("--limit %d: want 0 or more", f.limit)
	}
	return from, to, err
}
