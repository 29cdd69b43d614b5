package prometheus

import (
	"reflect"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/foliot-go/foliot"
)

// leftOut are the fields that are no metrics, with the reason.
var leftOut = map[string]string{
	"Stats.PerWorker":       "the metrics foliot_worker_… have what is in it",
	"WorkerStats.Fired":     "it moves with a shard to another worker, so it can fall, which a counter must not",
	"WorkerStats.Stale":     "the worker does not matter for memory; foliot_entries_stale is the sum",
	"WorkerStats.TaskPolls": "a worker that retires takes its polls with it; foliot_task_polls_total is the sum",
	"WorkerStats.Wakeups":   "it counts goroutines that take over the worker, also without a wake-up; foliot_wakeups_total has the wake-ups",
}

// exported returns the names of metrics by field.
func exported() map[string]string {
	names := map[string]string{}
	for _, m := range scalars {
		names["Stats."+m.field] = m.name
	}
	for _, m := range histograms {
		names["Stats."+m.field] = m.name
	}
	for _, m := range workerGauges {
		names["WorkerStats."+m.field] = m.name
	}
	return names
}

func TestEveryFieldIsAMetricOrLeftOutForAReason(t *testing.T) {
	names := exported()
	fields := map[string]bool{}
	for _, typ := range []reflect.Type{reflect.TypeFor[foliot.Stats](), reflect.TypeFor[foliot.WorkerStats]()} {
		for i := range typ.NumField() {
			field := typ.Name() + "." + typ.Field(i).Name
			fields[field] = true
			if (names[field] == "") == (leftOut[field] == "") {
				t.Errorf("%s is the metric %q, and left out because %q; want one of the two", field, names[field], leftOut[field])
			}
		}
	}
	for field := range names {
		if !fields[field] {
			t.Errorf("there is no field %s", field)
		}
	}
	for field := range leftOut {
		if !fields[field] {
			t.Errorf("there is no field %s", field)
		}
	}
}

// Each field of Stats gets its own value, which the metric must have.
func TestEveryMetricHasTheValueOfItsField(t *testing.T) {
	st := foliot.Stats{PerWorker: make([]foliot.WorkerStats, 2), Late: record(1, 2, 3), Ran: record(time.Second)}
	want := map[string]float64{} // by name and worker
	next := 1.0
	fill := func(v reflect.Value, worker string) {
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.Int:
				f.SetInt(int64(next))
			case reflect.Uint64:
				f.SetUint(uint64(next))
			default:
				continue
			}
			if name := exported()[v.Type().Name()+"."+v.Type().Field(i).Name]; name != "" {
				want[name+worker] = next
			}
			next++
		}
	}
	fill(reflect.ValueOf(&st).Elem(), "")
	fill(reflect.ValueOf(&st.PerWorker[0]).Elem(), "0")
	fill(reflect.ValueOf(&st.PerWorker[1]).Elem(), "1")
	want["foliot_timer_lateness_seconds"], want["foliot_callback_duration_seconds"] = 3, 1
	want["foliot_build_info"+version] = 1

	c := NewCollector(newRuntime(t, foliot.Options{}), nil).(*collector)
	ch := make(chan client.Metric, 1000)
	c.send(ch, &st)
	close(ch)
	got := map[string]float64{}
	for metric := range ch {
		var m dto.Metric
		if err := metric.Write(&m); err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(metric.Desc().String(), `fqName: "`)
		name, _, _ = strings.Cut(name, `"`)
		isCounter := m.Counter != nil
		if isCounter != strings.HasSuffix(name, "_total") {
			t.Errorf("%s: a counter ends in _total, and nothing else", name)
		}
		for _, l := range m.GetLabel() {
			name += l.GetValue()
		}
		got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
