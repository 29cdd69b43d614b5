// Package survey turns what an engine's shards report about their timers into figures: how many
// timers are due when, and which functions they call. It knows nothing of shards and locks: the
// engine collects, and this package counts.
package survey

import (
	"cmp"
	"slices"

	"github.com/foliot-go/foliot/internal/wheel"
)

// Merge merges the spans of a and b, both sorted, and appends them to dst. Any two spans must be
// disjoint or nested, as the branches of two wheels are. Nested spans become one.
func Merge(dst, a, b []wheel.Span) []wheel.Span {
	for len(a) > 0 || len(b) > 0 {
		var s wheel.Span
		if len(b) == 0 || len(a) > 0 && a[0].First <= b[0].First {
			s, a = a[0], a[1:]
		} else {
			s, b = b[0], b[1:]
		}
		if last := len(dst) - 1; last >= 0 && s.First <= dst[last].Last {
			dst[last].Last = max(dst[last].Last, s.Last)
			dst[last].Count += s.Count
			continue
		}
		dst = append(dst, s)
	}
	return dst
}

// Divide divides a sample of n among groups in proportion to their sizes. Fractions carry over from
// group to group; the first carry is start divided by the sum of the sizes, which must be larger
// than start. If start is random, a group too small for a whole one still gets one as often as it
// should.
func Divide(n int, sizes []int, start uint32) (parts []int) {
	total := 0
	for _, size := range sizes {
		total += size
	}
	parts = make([]int, len(sizes))
	if total == 0 {
		return parts
	}
	sum, given := uint64(start), 0
	for i, size := range sizes {
		sum += uint64(size) * uint64(n)
		parts[i] = int(sum/uint64(total)) - given
		given += parts[i]
	}
	return parts
}

// A Share is a function and the share of armed timers that call it when they fire.
type Share struct {
	Func    string
	Share   float64
	Samples int
}

// Shares counts the functions in a sample. The zero Shares is empty.
type Shares struct {
	byName  map[string]*Share // Share is a sum of weights here
	weights float64           // the sum of all weights
}

// Add adds the functions found in a group from which want timers were to be sampled. If fewer were
// found, each is weighted up accordingly, so that the group keeps its weight.
func (s *Shares) Add(found []string, want int) {
	if s.byName == nil {
		s.byName = map[string]*Share{}
	}
	weight := float64(want) / float64(max(len(found), 1))
	for _, name := range found {
		share := s.byName[name]
		if share == nil {
			share = &Share{Func: name}
			s.byName[name] = share
		}
		share.Share += weight
		share.Samples++
		s.weights += weight
	}
}

// Sorted returns the shares, largest first. They add up to 1.
func (s *Shares) Sorted() []Share {
	all := make([]Share, 0, len(s.byName))
	for _, share := range s.byName {
		all = append(all, Share{share.Func, share.Share / s.weights, share.Samples})
	}
	slices.SortFunc(all, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Func, b.Func))
	})
	return all
}
