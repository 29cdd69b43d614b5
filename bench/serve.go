package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// serveBase is the contender that the server of Foliot is compared with.
const serveBase = "bare-http"

const (
	serveClients = 64   // clients that send requests at the same time
	serveBatch   = 1000 // timers in one request, where many are made
	serveRate    = 1000 // webhooks that are due in a second, where their lateness is measured
)

// servePayload is the payload of a timer: JSON of orderPayload bytes.
var servePayload = []byte(`"` + strings.Repeat("x", orderPayload-2) + `"`)

// A serveInstance is a contender of the scenario serve: a process that takes PUT requests and sends webhooks.
type serveInstance struct {
	*childServer
	name    string
	clients chan *httpClient // serveClients of them
	next    int              // the number of the next timer that has not been made

	// deliver makes webhooks of the timers from first to first+n-1. The first one is due at begin, the others each a step
	// later.
	deliver func(first, n int, begin time.Time, step time.Duration) error
}

// A serveRig is what the scenario starts.
type serveRig struct {
	s     *scenarioRun
	dir   string // of the server of Foliot
	hooks *hookReceivers
	ours  *serveInstance
	all   []*serveInstance

	pending int // timers of the server of Foliot that are due in an hour
}

// startServe starts the receivers and the processes of both contenders. The caller calls close.
func (s *scenarioRun) startServe() (rig *serveRig, err error) {
	rig = &serveRig{s: s}
	defer func() {
		if err != nil {
			rig.close()
			rig = nil
		}
	}()
	if rig.dir, err = os.MkdirTemp("", "foliot-bench-"); err != nil {
		return rig, err
	}
	if rig.hooks, err = startReceivers(); err != nil {
		return rig, err
	}
	if rig.ours, err = rig.add("serve", "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(rig.dir, "data")); err != nil {
		return rig, err
	}
	rig.ours.deliver = rig.schedule
	bare, err := rig.add(serveBase, "bench-bare-server")
	if err != nil {
		return rig, err
	}
	bare.deliver = func(first, n int, begin time.Time, step time.Duration) error {
		all := bareWebhooks{First: first, N: n, Begin: begin, Step: step}
		for _, ln := range rig.hooks.listeners {
			all.URLs = append(all.URLs, "http://"+ln.Addr().String())
		}
		body, err := json.Marshal(all)
		if err != nil {
			return err
		}
		return bare.do("POST", "/send", body, 200)
	}
	return rig, nil
}

// add starts the process of a contender, and connects its clients.
func (r *serveRig) add(name string, args ...string) (*serveInstance, error) {
	child, err := startChild(args...)
	if err != nil {
		return nil, err
	}
	in := &serveInstance{childServer: child, name: name, clients: make(chan *httpClient, serveClients)}
	r.all = append(r.all, in)
	for range serveClients {
		c, err := dialHTTP(in.addr)
		if err != nil {
			return nil, err
		}
		in.clients <- c
	}
	return in, nil
}

// close ends everything that startServe has started. The server of Foliot is killed: its folder is removed, and webhooks
// to a receiver that hangs would take half a minute to end.
func (r *serveRig) close() {
	for _, in := range r.all {
		in.kill()
		for range len(in.clients) {
			(<-in.clients).close()
		}
	}
	if r.hooks != nil {
		r.hooks.close()
	}
	_ = os.RemoveAll(r.dir)
}

// do sends a request by a client that is free.
func (in *serveInstance) do(method, path string, body []byte, want int) error {
	c := <-in.clients
	err := c.do(method, path, body, want)
	in.clients <- c
	return err
}

// appendTimer appends the fields of a timer in JSON, without the braces around them.
func (r *serveRig) appendTimer(b []byte, i int, at time.Time) []byte {
	b = append(b, `"at":"`...)
	b = at.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(append(b, `","webhook":{"url":"`...), r.hooks.url(i)...)
	return append(append(b, `"},"payload":`...), servePayload...)
}

// put makes one timer.
func (r *serveRig) put(in *serveInstance, i int, at time.Time) error {
	body := append(r.appendTimer(append(make([]byte, 0, 256), '{'), i, at), '}')
	return in.do("PUT", "/v1/timers/"+orderID(i), body, 201)
}

// fill makes the timers from first to first+n-1 in batches.
func (r *serveRig) fill(first, n int, at func(i int) time.Time) error {
	const callers = 4
	_, _, err := callRate(callers, time.Hour, (n+serveBatch-1)/serveBatch, func(batch int) error {
		if err := r.s.ctx.Err(); err != nil {
			return err
		}
		body := []byte(`{"timers":[`)
		from := first + batch*serveBatch
		for i := from; i < min(from+serveBatch, first+n); i++ {
			if i > from {
				body = append(body, ',')
			}
			body = append(append(append(body, `{"id":"`...), orderID(i)...), `",`...)
			body = append(r.appendTimer(body, i, at(i)), '}')
		}
		return r.ours.do("POST", "/v1/timers", append(body, `]}`...), 200)
	})
	return err
}

// schedule is deliver of the server of Foliot.
func (r *serveRig) schedule(first, n int, begin time.Time, step time.Duration) error {
	return r.fill(first, n, func(i int) time.Time { return begin.Add(time.Duration(i-first) * step) })
}

// serveTimers measures the server of foliot serve.
func serveTimers(s *scenarioRun) error {
	if c, _ := findContender("serve"); !s.opts.wants(c) {
		return nil
	}
	rig, err := s.startServe()
	if err != nil {
		return err
	}
	defer rig.close()
	memoryBefore := rig.memory()
	if err := rig.measurePuts(); err != nil {
		return err
	}
	if err := rig.measureWebhooks(); err != nil {
		return err
	}
	if err := rig.measureLateness("webhook late by"); err != nil {
		return err
	}
	if more := s.n - rig.pending; more > 0 {
		if err := rig.fill(rig.ours.next, more, inAnHour); err != nil {
			return err
		}
		rig.ours.next += more
		rig.pending += more
	}
	memoryThen := rig.memory()
	rig.hooks.hangs.Store(true)
	if err := rig.measureLateness("a tenth of the receivers hang, webhook to another late by"); err != nil {
		return err
	}
	if s.ctx.Err() != nil {
		return nil
	}
	for name, mib := range memoryBefore {
		s.measure("memory of the server before", "MiB").neutral().add(name, 0, mib)
	}
	if mib, ok := memoryThen[rig.ours.name]; ok { // nothing is pending on the other one
		s.measure("memory of the server with timers pending", "MiB").neutral().add(rig.ours.name, rig.pending, mib)
	}
	rig.measureSync()
	return nil
}

// measurePuts measures how many timers are made in a second. All of them are due in an hour.
func (r *serveRig) measurePuts() error {
	s := r.s
	rate := s.measure("PUT requests of 64 clients", "k/s").against(serveBase).higherIsBetter().main()
	cpu := s.measure("processor time of the server for a PUT", "µs").against(serveBase)
	one := func(in *serveInstance, length time.Duration) (calls int, thousands float64, err error) {
		at, first := time.Now().Add(time.Hour), in.next
		calls, thousands, err = callRate(serveClients, length, s.n, func(i int) error { return r.put(in, first+i, at) })
		in.next += calls
		if in == r.ours {
			r.pending += calls
		}
		return calls, thousands, err
	}
	for _, in := range r.all {
		if _, _, err := one(in, pick(s, 100*time.Millisecond, time.Second)); err != nil { // to warm up
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	for round := range s.rounds() {
		for i := range r.all {
			in := r.all[(round+i)%len(r.all)]
			before, _, _ := processUsage(in.cmd.Process.Pid)
			calls, thousands, err := one(in, pick(s, 300*time.Millisecond, time.Second))
			if err != nil {
				return fmt.Errorf("%s: %w", in.name, err)
			}
			row := rate.add(in.name, 0, thousands)
			if in.name == serveBase {
				row.note("bare net/http is another process, whose server reads the same requests, keeps nothing and responds: it is the floor")
			}
			in.addCPU(cpu, before, calls)
		}
	}
	return nil
}

// addCPU adds the processor time that a process has taken for each call since a time.
func (in *serveInstance) addCPU(m *measurement, before time.Duration, calls int) {
	if after, _, ok := processUsage(in.cmd.Process.Pid); ok && calls > 0 {
		m.add(in.name, 0, max(float64((after-before).Nanoseconds()), 1)/1e3/float64(calls))
	}
}

// await makes webhooks, and waits until they have arrived. begun is called when the first one is due. If it takes too long to
// make the timers, others are made that are due later.
func (r *serveRig) await(in *serveInstance, n int, step time.Duration, begun func()) (log *hookLog, begin time.Time, err error) {
	defer r.hooks.log.Store(nil)
	lead := 300*time.Millisecond + time.Duration(n)*50*time.Microsecond
	for range 6 {
		log = r.newLog(in, n)
		begin = time.Now().Add(lead).Truncate(time.Microsecond)
		if err := in.deliver(log.first, n, begin, step); err != nil {
			return log, begin, err
		}
		inTime := time.Now().Before(begin)
		if inTime {
			time.Sleep(time.Until(begin))
			begun()
		}
		select {
		case <-log.done:
		case <-r.s.ctx.Done():
			return log, begin, nil
		case <-time.After(time.Duration(n)*step + 30*time.Second):
			return log, begin, fmt.Errorf("%d of %d webhooks have not arrived half a minute after the last deadline", log.missing.Load(), n)
		}
		if inTime {
			return log, begin, nil
		}
		lead *= 2
	}
	return log, begin, fmt.Errorf("it took more than %v to make %d timers", lead/2, n)
}

// newLog returns the log of the next n timers of a contender. Receivers use it from then on.
func (r *serveRig) newLog(in *serveInstance, n int) *hookLog {
	first, awaited := in.next, 0
	in.next += n
	for i := first; i < first+n; i++ {
		if !r.hooks.hung(i) {
			awaited++
		}
	}
	log := newHookLog(first, n, awaited)
	r.hooks.log.Store(log)
	return log
}

// measureWebhooks measures how many webhooks arrive in a second if very many are due.
func (r *serveRig) measureWebhooks() error {
	s := r.s
	rate := s.measure("webhooks delivered", "k/s").against(serveBase).higherIsBetter().main()
	cpu := s.measure("processor time of the server for a webhook", "µs").against(serveBase)
	n := min(s.n, pick(s, 5000, 20_000))
	for round := range s.fewRounds() {
		for i := range r.all {
			in := r.all[(round+i)%len(r.all)]
			var before time.Duration
			log, begin, err := r.await(in, n, 0, func() { before, _, _ = processUsage(in.cmd.Process.Pid) })
			if err != nil {
				return fmt.Errorf("%s: %w", in.name, err)
			}
			if s.ctx.Err() != nil {
				return nil
			}
			row := rate.add(in.name, 0, float64(n)/log.last().Sub(begin).Seconds()/1e3)
			if in.name == serveBase {
				row.note("bare net/http sends POST requests by an http.Client to the same receivers, 64 at a time, and keeps nothing; for the lateness, each is sent by time.AfterFunc")
			}
			in.addCPU(cpu, before, n)
		}
	}
	return nil
}

// measureLateness measures how late webhooks arrive that are due at a steady rate.
func (r *serveRig) measureLateness(name string) error {
	s := r.s
	n := min(s.n, pick(s, serveRate/2, 4*serveRate))
	for _, in := range r.all {
		all := newLateLog()
		for range s.fewRounds() {
			log, begin, err := r.await(in, n, time.Second/serveRate, func() {})
			if err != nil {
				return fmt.Errorf("%s: %w", in.name, err)
			}
			if s.ctx.Err() != nil {
				return nil
			}
			for i := range n {
				if at := log.arrived[i].Load(); at != 0 {
					all.add(time.Duration(at - begin.Add(time.Duration(i)*time.Second/serveRate).UnixNano()))
				}
			}
			all.endRound()
		}
		if s.ctx.Err() != nil {
			return nil
		}
		if all.all.TotalCount() == 0 {
			return errors.New("no webhook has arrived")
		}
		r.addLateness(in, name, all)
	}
	return nil
}

// addLateness adds the figures of a contender to the run.
func (r *serveRig) addLateness(in *serveInstance, name string, all *lateLog) {
	measure := func(which string) *measurement {
		m := r.s.measure(name+", "+which, "ms").against(serveBase)
		m.Of = "a second"
		return m
	}
	var medians []float64
	for _, us := range all.median {
		medians = append(medians, us/1e3)
	}
	measure("median").add(in.name, serveRate, medians...).early = all.early
	measure("99 of 100 less than").add(in.name, serveRate, float64(all.all.ValueAtPercentile(99))/1e6)
	measure("at most").add(in.name, serveRate, float64(all.all.ValueAtPercentile(100))/1e6)
}

// memory returns the memory of the processes in MiB, by contender, where that is known.
func (r *serveRig) memory() map[string]float64 {
	all := make(map[string]float64)
	for _, in := range r.all {
		if _, bytes, ok := processUsage(in.cmd.Process.Pid); ok {
			all[in.name] = float64(bytes) / (1 << 20)
		}
	}
	return all
}

// measureSync measures how long a write and a sync take in the folder of the server.
func (r *serveRig) measureSync() {
	f, err := os.Create(filepath.Join(r.dir, "sync"))
	if err != nil {
		return
	}
	defer f.Close()
	var took []float64
	block := make([]byte, 4096)
	for range 50 {
		began := time.Now()
		if _, err := f.Write(block); err != nil || f.Sync() != nil {
			return
		}
		took = append(took, float64(time.Since(began).Nanoseconds())/1e3)
	}
	slices.Sort(took)
	r.s.measure("a write of 4 KiB and a sync in its folder, median", "µs").neutral().add(r.ours.name, 0, quantile(took, 0.5))
}
