package prometheus_test

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliot-go/foliot"
	foliotprom "github.com/foliot-go/foliot/prometheus"
)

// A program serves the registry with promhttp. Here the clock is a manual one, so the numbers are known.
func ExampleNewCollector() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(foliotprom.NewCollector(rt, foliotprom.Labels{"runtime": "sessions"}))

	for i := range 10 {
		if _, err := rt.AfterFunc(time.Duration(i)*time.Minute, func() {}); err != nil {
			panic(err)
		}
	}
	clock.Advance(5 * time.Minute)

	metrics, err := reg.Gather()
	if err != nil {
		panic(err)
	}
	for _, m := range metrics {
		switch m.GetName() {
		case "foliot_timers_armed":
			fmt.Println(m.GetName(), m.GetMetric()[0].GetGauge().GetValue())
		case "foliot_timers_fired_total":
			fmt.Println(m.GetName(), m.GetMetric()[0].GetCounter().GetValue())
		}
	}
	// Output:
	// foliot_timers_armed 4
	// foliot_timers_fired_total 6
}
