package serve

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a container may have no time zones

	"github.com/robfig/cron/v3"
)

// A calendar is a cron expression in a time zone.
//
// The library defines what becomes of times that a change of clocks skips or repeats: see its package
// comment, and the tests.
type calendar struct {
	schedule cron.Schedule
	zone     *time.Location
}

const (
	maxCron = 256
	maxTZ   = 64
)

var cronParser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// parseCalendar parses an expression of five fields, of six with seconds first, or a word such as @daily. An
// empty tz means UTC.
func parseCalendar(expr, tz string) (*calendar, error) {
	switch {
	case len(expr) > maxCron:
		return nil, fmt.Errorf("cron has %d bytes; at most %d are allowed", len(expr), maxCron)
	case strings.Contains(expr, "TZ="):
		return nil, errors.New("cron has a time zone in it; put it into tz")
	case strings.HasPrefix(strings.TrimSpace(expr), "@every"):
		return nil, errors.New("@every is no calendar; use every")
	case len(tz) > maxTZ:
		return nil, fmt.Errorf("tz has %d bytes; at most %d are allowed", len(tz), maxTZ)
	case strings.EqualFold(tz, "local"):
		return nil, errors.New("tz is Local, which depends on the machine; write a name such as Europe/Berlin")
	}
	if tz == "" {
		tz = "UTC"
	}
	zone, err := loadZone(tz)
	if err != nil {
		return nil, fmt.Errorf("tz %q is not known; write a name of the IANA database such as Europe/Berlin", tz)
	}
	schedule, err := cronParser.Parse(expr)
	if err != nil {
		return nil, fmt.Errorf("cron %q: %w; write minute, hour, day, month and weekday, for example \"0 3 * * *\"", expr, err)
	}
	return &calendar{schedule, zone}, nil
}

// next returns the first occurrence after a time, or the zero time if there is none in the next five years.
func (c *calendar) next(after time.Time) time.Time { return c.schedule.Next(after.In(c.zone)) }

// zones are the time zones that were loaded, by name. Only names that exist are in it, so it is bounded.
var zones sync.Map

// loadZone returns a time zone. The standard library would read a file each time, and the store waits for
// the next occurrence of a calendar.
func loadZone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err
}
