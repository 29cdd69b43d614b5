package prometheus

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/foliot-go/foliot"
)

// scrape gets the metrics from a server in a format, and parses them.
func scrape(t testing.TB, url, accept string) map[string]*dto.MetricFamily {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	families := map[string]*dto.MetricFamily{}
	decoder := expfmt.NewDecoder(resp.Body, expfmt.ResponseFormat(resp.Header))
	for {
		var f dto.MetricFamily
		err := decoder.Decode(&f)
		if errors.Is(err, io.EOF) {
			return families
		}
		if err != nil {
			t.Fatal(err)
		}
		families[f.GetName()] = &f
	}
}

const (
	textFormat     = "text/plain;version=0.0.4"
	protobufFormat = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)

func TestAScrapeInEachFormatHasAllMetrics(t *testing.T) {
	rt := newRuntime(t, foliot.Options{})
	var fired sync.WaitGroup
	for i := range 1000 {
		fired.Add(1)
		if _, err := rt.AfterFunc(time.Duration(i%10)*time.Millisecond, fired.Done); err != nil {
			t.Fatal(err)
		}
	}
	fired.Wait()
	if _, err := rt.Shutdown(t.Context()); err != nil { // so that both scrapes have the same numbers
		t.Fatal(err)
	}
	server := httptest.NewServer(promhttp.HandlerFor(newRegistry(t, NewCollector(rt, Labels{"runtime": "a"})), promhttp.HandlerOpts{}))
	defer server.Close()

	text, binary := scrape(t, server.URL, textFormat), scrape(t, server.URL, protobufFormat)
	if want := len(scalars) + len(workerGauges) + len(histograms) + 1; len(text) != want || len(binary) != want {
		t.Errorf("%d metrics as text, %d as protobuf, want %d", len(text), len(binary), want)
	}
	st := rt.Stats()
	for name, h := range map[string]foliot.Histogram{
		"foliot_timer_lateness_seconds":    st.Late,
		"foliot_callback_duration_seconds": st.Ran,
	} {
		classic, native := text[name].GetMetric()[0].GetHistogram(), binary[name].GetMetric()[0].GetHistogram()
		for _, parsed := range []*dto.Histogram{classic, native} {
			if parsed.GetSampleCount() != h.Count() || h.Count() != 1000 || math.Abs(parsed.GetSampleSum()-h.Sum().Seconds()) > 1e-9 {
				t.Errorf("%s: count %d, sum %v; want %d, %v", name, parsed.GetSampleCount(), parsed.GetSampleSum(), h.Count(), h.Sum().Seconds())
			}
		}
		for i, b := range native.GetBucket() {
			if c := classic.GetBucket()[i]; c.GetUpperBound() != b.GetUpperBound() || c.GetCumulativeCount() != b.GetCumulativeCount() {
				t.Errorf("%s: the buckets %v and %v differ", name, c, b)
			}
		}
		if last := classic.GetBucket()[len(classic.GetBucket())-1]; !math.IsInf(last.GetUpperBound(), 1) || last.GetCumulativeCount() != h.Count() {
			t.Errorf("%s: the last bucket as text is %v", name, last)
		}
		sum := native.GetZeroCount()
		for _, n := range nativeCounts(native) {
			sum += uint64(n)
		}
		if sum != h.Count() || native.GetSchema() != schema {
			t.Errorf("%s: %d durations in native buckets of schema %d", name, sum, native.GetSchema())
		}
	}
	if n := text["foliot_timers_fired_total"].GetMetric()[0].GetCounter().GetValue(); n != 1000 {
		t.Errorf("%v timers have fired", n)
	}
}

// Scrapes at the same time, of a runtime that has work, is resized and shut down. In each scrape the
// buckets add up to the count, and no counter falls from one scrape of a goroutine to the next.
func TestScrapesUnderLoadAreConsistent(t *testing.T) {
	rt := newRuntime(t, foliot.Options{Workers: 2})
	reg := newRegistry(t, NewCollector(rt, nil))
	var workers sync.WaitGroup
	end := make(chan bool)
	for range 2 {
		workers.Go(func() {
			for i := 0; ; i++ {
				if i%100 == 0 { // leave time for the others
					select {
					case <-end:
						return
					case <-time.After(time.Millisecond):
					}
				}
				timer, err := rt.AfterFunc(time.Duration(i%100)*10*time.Microsecond, func() {})
				if err == nil && i%3 == 0 {
					timer.Stop()
				}
			}
		})
	}
	workers.Go(func() {
		for i := range 20 {
			if err := rt.Resize(1 + i%3); err != nil && !errors.Is(err, foliot.ErrClosed) {
				t.Error(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	var scrapers sync.WaitGroup
	for range 3 {
		scrapers.Go(func() {
			last := map[string]float64{}
			for range 50 {
				families, err := reg.Gather()
				if err != nil {
					t.Error(err)
				}
				for _, f := range families {
					name := f.GetName()
					for _, m := range f.GetMetric() {
						if m.Counter != nil {
							if n := m.GetCounter().GetValue(); n < last[name] {
								t.Errorf("%s goes from %v to %v", name, last[name], n)
							}
							last[name] = m.GetCounter().GetValue()
						}
						if h := m.GetHistogram(); h != nil {
							sum := h.GetZeroCount()
							for _, n := range nativeCounts(h) {
								sum += uint64(n)
							}
							if sum != h.GetSampleCount() || float64(sum) < last[name] {
								t.Errorf("%s: a count of %d, %d in buckets, %v before", name, h.GetSampleCount(), sum, last[name])
							}
							last[name] = float64(sum)
						}
					}
				}
			}
		})
	}
	scrapers.Wait()
	if _, err := rt.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	gather(t, reg)
	close(end)
	workers.Wait()
}
