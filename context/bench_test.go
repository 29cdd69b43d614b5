package context_test

import (
	std "context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot/context"
)

// batch is the number of operations that compare measures at a time.
const batch = 500

// compare measures an operation with the standard package and with this one, in turns, so that
// both have the same share of what else the machine does. One operation of the benchmark is a
// batch of each. It reports the medians, in ns for one operation, and as x how many times as
// fast this package is.
func compare(b *testing.B, standard, own func(ops int)) {
	b.Helper()
	var all [3][]float64
	measure := func(f func(int)) float64 {
		began := time.Now()
		f(batch)
		return float64(time.Since(began)) / batch
	}
	for b.Loop() {
		s, o := measure(standard), measure(own)
		all[0], all[1], all[2] = append(all[0], s), append(all[1], o), append(all[2], s/o)
	}
	for i, unit := range []string{"std-ns", "own-ns", "x"} {
		slices.Sort(all[i])
		b.ReportMetric(all[i][len(all[i])/2], unit)
	}
	b.ReportMetric(0, "ns/op")
}

type (
	withTimeout = func(std.Context, time.Duration) (std.Context, std.CancelFunc)
	withCancel  = func(std.Context) (std.Context, std.CancelFunc)
)

// uses are what programs do with a context before they cancel it.
var uses = []struct {
	name string
	f    func(std.Context)
}{
	{"nothing", func(std.Context) {}},
	{"Err", func(ctx std.Context) { _ = ctx.Err() }},
	{"Done", func(ctx std.Context) { ctx.Done() }},
	{"child", func(ctx std.Context) {
		_, cancel := std.WithCancel(ctx)
		cancel()
	}},
	{"valued child", func(ctx std.Context) {
		_, cancel := std.WithCancel(std.WithValue(ctx, testKey("k"), 1))
		cancel()
	}},
	{"AfterFunc", func(ctx std.Context) { std.AfterFunc(ctx, func() {})() }},
}

// BenchmarkWithTimeout makes a context, uses it and cancels it.
func BenchmarkWithTimeout(b *testing.B) {
	background := func(withTimeout) (std.Context, std.CancelFunc) { return std.Background(), func() {} }
	for _, parent := range []struct {
		name string
		make func(withTimeout) (std.Context, std.CancelFunc)
	}{
		{"background", background},
		{"standard", func(withTimeout) (std.Context, std.CancelFunc) { return std.WithCancel(std.Background()) }},
		{"own", func(with withTimeout) (std.Context, std.CancelFunc) { return with(std.Background(), 2*hour) }},
		{"own below standard", func(with withTimeout) (std.Context, std.CancelFunc) {
			top, cancel := std.WithCancel(std.Background())
			ctx, _ := with(top, 2*hour)
			return ctx, cancel
		}},
		{"valued own", func(with withTimeout) (std.Context, std.CancelFunc) {
			ctx, cancel := with(std.Background(), 2*hour)
			return std.WithValue(ctx, testKey("k"), 1), cancel
		}},
	} {
		for _, use := range uses {
			b.Run(fmt.Sprintf("below=%s/use=%s", parent.name, use.name), func(b *testing.B) {
				run := func(with withTimeout) func(int) {
					above, cancel := parent.make(with)
					b.Cleanup(cancel)
					return func(ops int) {
						for range ops {
							ctx, cancel := with(above, hour)
							use.f(ctx)
							cancel()
						}
					}
				}
				compare(b, run(std.WithTimeout), run(context.WithTimeout))
			})
		}
	}
}

// BenchmarkRequest makes a standard context, one with a deadline below it, waits for that, and
// cancels both, as a server does for each request.
func BenchmarkRequest(b *testing.B) {
	for _, n := range []int{0, 1, 3} {
		b.Run(fmt.Sprintf("waits=%d", n), func(b *testing.B) {
			run := func(with withTimeout) func(int) {
				return func(ops int) {
					for range ops {
						request, end := std.WithCancel(std.Background())
						for range max(n, 1) {
							ctx, cancel := with(request, hour)
							if n > 0 {
								ctx.Done()
							}
							cancel()
						}
						end()
					}
				}
			}
			compare(b, run(std.WithTimeout), run(context.WithTimeout))
		})
	}
}

// BenchmarkTree makes a tree of contexts with deadlines, each with two below it, waits for
// every one, and cancels the root. One operation is a tree of 15.
func BenchmarkTree(b *testing.B) {
	for _, below := range []string{"background", "standard"} {
		for _, wait := range []bool{false, true} {
			b.Run(fmt.Sprintf("below=%s/Done=%t", below, wait), func(b *testing.B) {
				run := func(with withTimeout) func(int) {
					root := std.Background()
					if below == "standard" {
						var cancel std.CancelFunc
						root, cancel = std.WithCancel(root)
						b.Cleanup(cancel)
					}
					var grow func(parent std.Context, depth int) std.CancelFunc
					grow = func(parent std.Context, depth int) std.CancelFunc {
						ctx, cancel := with(parent, time.Duration(depth)*hour)
						if wait {
							ctx.Done()
						}
						if depth > 1 {
							left, right := grow(ctx, depth-1), grow(ctx, depth-1)
							return func() { left(); right(); cancel() }
						}
						return cancel
					}
					return func(ops int) {
						for range ops/15 + 1 {
							grow(root, 4)()
						}
					}
				}
				compare(b, run(std.WithTimeout), run(context.WithTimeout))
			})
		}
	}
}

// chain makes a chain of contexts and returns the last, and a function that cancels the first.
func chain(with withTimeout, cancellable withCancel, top std.Context, depth int) (std.Context, std.CancelFunc) {
	ctx, cancel := with(top, hour)
	for range depth - 1 {
		ctx, _ = cancellable(ctx)
	}
	return ctx, cancel
}

// BenchmarkDepth asks the last context of a chain, and makes a context below it.
func BenchmarkDepth(b *testing.B) {
	standardTop, cancelTop := std.WithCancel(std.Background())
	defer cancelTop()
	for _, top := range []struct {
		name string
		ctx  std.Context
	}{{"background", std.Background()}, {"standard", standardTop}} {
		for _, depth := range []int{1, 10, 100, 1000} {
			standard, cancelStandard := chain(std.WithTimeout, std.WithCancel, top.ctx, depth)
			own, cancelOwn := chain(context.WithTimeout, context.WithCancel, top.ctx, depth)
			for _, op := range []struct {
				name string
				f    func(ctx std.Context, with withTimeout, cancellable withCancel)
			}{
				{"Err", func(ctx std.Context, _ withTimeout, _ withCancel) { _ = ctx.Err() }},
				{"Done", func(ctx std.Context, _ withTimeout, _ withCancel) { ctx.Done() }},
				{"Deadline", func(ctx std.Context, _ withTimeout, _ withCancel) { ctx.Deadline() }},
				{"WithCancel", func(ctx std.Context, _ withTimeout, cancellable withCancel) {
					_, cancel := cancellable(ctx)
					cancel()
				}},
				{"WithTimeout", func(ctx std.Context, with withTimeout, _ withCancel) {
					_, cancel := with(ctx, time.Minute)
					cancel()
				}},
			} {
				b.Run(fmt.Sprintf("top=%s/depth=%d/%s", top.name, depth, op.name), func(b *testing.B) {
					run := func(ctx std.Context, with withTimeout, cancellable withCancel) func(int) {
						return func(ops int) {
							for range ops {
								op.f(ctx, with, cancellable)
							}
						}
					}
					compare(b, run(standard, std.WithTimeout, std.WithCancel), run(own, context.WithTimeout, context.WithCancel))
				})
			}
			cancelStandard()
			cancelOwn()
		}
	}
}

// BenchmarkChain makes a chain of contexts with deadlines, waits for the last, and cancels the
// first. One operation is a context of the chain.
func BenchmarkChain(b *testing.B) {
	for _, depth := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			run := func(with withTimeout) func(int) {
				return func(ops int) {
					for range max(ops/depth, 1) {
						same := func(ctx std.Context) (std.Context, std.CancelFunc) { return with(ctx, hour) }
						last, cancel := chain(with, same, std.Background(), depth)
						last.Done()
						cancel()
					}
				}
			}
			compare(b, run(std.WithTimeout), run(context.WithTimeout))
		})
	}
}
