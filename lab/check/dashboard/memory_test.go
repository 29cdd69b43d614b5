package dashboard

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// A memory is a small database of Prometheus series. The real one needs the libraries of three clouds.
type memory struct {
	series map[string]*storage.SeriesEntry
	points map[string][]chunks.Sample
}

// append adds a point to a series. Points come in the order of time.
func (m *memory) append(l labels.Labels, p point) {
	if m.series == nil {
		m.series = map[string]*storage.SeriesEntry{}
		m.points = map[string][]chunks.Sample{}
	}
	key := l.String()
	m.points[key] = append(m.points[key], p)
	m.series[key] = storage.NewListSeries(l, m.points[key])
}

// Querier is that of storage.Queryable.
func (m *memory) Querier(_, _ int64) (storage.Querier, error) { return memoryQuerier{m: m}, nil }

// A memoryQuerier is a storage.Querier that can only select.
type memoryQuerier struct {
	storage.LabelQuerier
	m *memory
}

func (q memoryQuerier) Close() error { return nil }

// Select returns the series that match, in the order of their labels.
func (q memoryQuerier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &memorySet{}
	for _, s := range q.m.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Lset.Get(m.Name)) }) {
			set.series = append(set.series, s)
		}
	}
	slices.SortFunc(set.series, func(a, b *storage.SeriesEntry) int { return labels.Compare(a.Lset, b.Lset) })
	return set
}

// A memorySet is a storage.SeriesSet.
type memorySet struct {
	series []*storage.SeriesEntry
	next   int
}

func (s *memorySet) Next() bool {
	s.next++
	return s.next <= len(s.series)
}

func (s *memorySet) At() storage.Series                { return s.series[s.next-1] }
func (s *memorySet) Err() error                        { return nil }
func (s *memorySet) Warnings() annotations.Annotations { return nil }

// A point is a chunks.Sample: a number, or a histogram if h is not nil.
type point struct {
	at int64
	f  float64
	h  *histogram.Histogram
}

func (p point) T() int64                { return p.at }
func (p point) ST() int64               { return 0 }
func (p point) F() float64              { return p.f }
func (p point) H() *histogram.Histogram { return p.h }
func (p point) Copy() chunks.Sample     { return p }

// FH returns the histogram in the form that the engine computes with.
func (p point) FH() *histogram.FloatHistogram {
	if p.h == nil {
		return nil
	}
	return p.h.ToFloat(nil)
}

func (p point) Type() chunkenc.ValueType {
	if p.h != nil {
		return chunkenc.ValHistogram
	}
	return chunkenc.ValFloat
}
