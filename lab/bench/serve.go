package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	serveClients = 64   // clients that send requests at the same time
	serveBatch   = 1000 // timers in one request, where many are made
	serveRate    = 1000 // webhooks that are due in a second, where their lateness is measured
)

// servePayload is the payload of a timer: JSON of orderPayload bytes.
var servePayload = []byte(`"` + strings.Repeat("x", orderPayload-2) + `"`)

// A serveProcess is a contender of the scenario serve: a process that takes PUT requests and sends webhooks.
type serveProcess struct {
	*childServer
	clients chan *httpClient // serveClients of them
	next    int              // the number of the next timer that has not been made

	// deliver makes webhooks of the timers from first to first+n-1. The first one is due at begin, the others each a step
	// later.
	deliver func(first, n int, begin time.Time, step time.Duration) error
}

// A serveRig is what the scenario starts.
type serveRig struct {
	r     *run
	dir   string // of the server of Foliot, and of its program
	hooks *hookReceivers
	ours  *serveProcess
	all   []*entrant[*serveProcess]

	pending int // timers of the server of Foliot that are due in an hour
}

// startServe builds the server, and starts the receivers and the processes of both contenders. The caller calls close.
func startServe(r *run) (rig *serveRig, err error) {
	rig = &serveRig{r: r}
	defer func() {
		if err != nil {
			rig.close()
			rig = nil
		}
	}()
	if rig.dir, err = os.MkdirTemp("", "foliot-bench-"); err != nil {
		return rig, err
	}
	program, err := buildFoliot(rig.dir)
	if err != nil {
		return rig, fmt.Errorf("skipped, because foliot cannot be built: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return rig, err
	}
	if rig.hooks, err = startReceivers(); err != nil {
		return rig, err
	}
	bare, err := rig.add("bare-http", self, "-bare-server")
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
	if rig.ours, err = rig.add("serve", program, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(rig.dir, "data")); err == nil {
		rig.ours.deliver = rig.schedule
	}
	return rig, err
}

// add starts the process of a contender, and connects its clients.
func (r *serveRig) add(name, program string, args ...string) (*serveProcess, error) {
	child, err := startChild(program, args...)
	if err != nil {
		return nil, err
	}
	in := &serveProcess{childServer: child, clients: make(chan *httpClient, serveClients)}
	r.all = append(r.all, &entrant[*serveProcess]{name: name, it: in})
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
	for _, e := range r.all {
		e.it.kill()
		for range len(e.it.clients) {
			(<-e.it.clients).close()
		}
	}
	if r.hooks != nil {
		r.hooks.close()
	}
	_ = os.RemoveAll(r.dir)
}

// do sends a request by a client that is free.
func (in *serveProcess) do(method, path string, body []byte, want int) error {
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
func (r *serveRig) put(in *serveProcess, i int, at time.Time) error {
	body := append(r.appendTimer(append(make([]byte, 0, 256), '{'), i, at), '}')
	return in.do("PUT", "/v1/timers/"+orderID(i), body, 201)
}

// fill makes the timers from first to first+n-1 in batches.
func (r *serveRig) fill(first, n int, at func(i int) time.Time) error {
	const callers = 4
	_, _, err := callRate(callers, time.Hour, (n+serveBatch-1)/serveBatch, func(batch int) error {
		if err := r.r.ctx.Err(); err != nil {
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
func serveTimers(r *run) error {
	if !r.wants("serve") {
		return nil
	}
	rig, err := startServe(r)
	if err != nil {
		return err
	}
	defer rig.close()
	rig.measureMemory()
	rig.measurePuts()
	rig.measureWebhooks()
	rig.measureLateness("serve-late")
	if !r.measures("serve-late-hung", "serve-memory", "serve-sync") || r.ctx.Err() != nil {
		return nil
	}
	if more := r.n - rig.pending; more > 0 {
		if err := rig.fill(rig.ours.next, more, inAnHour); err != nil {
			return err
		}
		rig.ours.next += more
		rig.pending += more
	}
	rig.measureMemory()
	rig.hooks.hangs.Store(true)
	rig.measureLateness("serve-late-hung")
	return rig.measureSync()
}

// measurePuts measures how many timers are made in a second. All of them are due in an hour.
func (r *serveRig) measurePuts() {
	if !r.r.measures("serve-put", "serve-put-cpu") {
		return
	}
	put := func(in *serveProcess, length time.Duration) (calls int, rate float64, err error) {
		at, first := time.Now().Add(time.Hour), in.next
		calls, rate, err = callRate(serveClients, length, r.r.n, func(i int) error { return r.put(in, first+i, at) })
		in.next += calls
		if in == r.ours {
			r.pending += calls
		}
		return calls, rate, err
	}
	for _, e := range r.all {
		_, _, _ = put(e.it, pick(r.r, 100*time.Millisecond, time.Second)) // to warm up; what fails will fail again
	}
	turns(r.r, r.r.few(pick(r.r, 3, 6)), r.all, func(_ int, e *entrant[*serveProcess]) ([]result, error) {
		before, _, _ := processUsage(e.it.cmd.Process.Pid)
		calls, rate, err := put(e.it, pick(r.r, 300*time.Millisecond, time.Second))
		return []result{{"serve-put", "", calls, []value{{rate, "op/s"}}}, {"serve-put-cpu", "", calls, e.it.cpuSince(before, calls)}}, err
	})
}

// cpuSince returns the processor time that a process has taken for each call since a time, where that is known.
func (in *serveProcess) cpuSince(before time.Duration, calls int) []value {
	after, _, ok := processUsage(in.cmd.Process.Pid)
	if !ok || calls == 0 {
		return nil
	}
	return []value{{max(float64(after-before), 1) / float64(calls), "cpu-ns/op"}}
}

// await makes webhooks, and waits until they have arrived. begun is called when the first one is due. If it takes too long to
// make the timers, others are made that are due later.
func (r *serveRig) await(in *serveProcess, n int, step time.Duration, begun func()) (log *hookLog, begin time.Time, err error) {
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
		case <-r.r.ctx.Done():
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
func (r *serveRig) newLog(in *serveProcess, n int) *hookLog {
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
func (r *serveRig) measureWebhooks() {
	if !r.r.measures("serve-webhook", "serve-webhook-cpu") {
		return
	}
	n := min(r.r.n, pick(r.r, 5000, 20_000))
	turns(r.r, r.r.few(pick(r.r, 2, 5)), r.all, func(_ int, e *entrant[*serveProcess]) ([]result, error) {
		var before time.Duration
		log, begin, err := r.await(e.it, n, 0, func() { before, _, _ = processUsage(e.it.cmd.Process.Pid) })
		if err != nil {
			return nil, err
		}
		rate := float64(n) / max(log.last().Sub(begin).Seconds(), 1e-9)
		return []result{{"serve-webhook", "", n, []value{{rate, "op/s"}}}, {"serve-webhook-cpu", "", n, e.it.cpuSince(before, n)}}, nil
	})
}

// measureLateness measures how late webhooks arrive that are due at a steady rate.
func (r *serveRig) measureLateness(name string) {
	if !r.r.measures(name) {
		return
	}
	n := min(r.r.n, pick(r.r, serveRate/4, 2*serveRate))
	turns(r.r, r.r.few(pick(r.r, 2, 3)), r.all, func(_ int, e *entrant[*serveProcess]) ([]result, error) {
		log, begin, err := r.await(e.it, n, time.Second/serveRate, func() {})
		if err != nil {
			return nil, err
		}
		var late []time.Duration
		for i := range n {
			if at := log.arrived[i].Load(); at != 0 {
				late = append(late, time.Duration(at-begin.Add(time.Duration(i)*time.Second/serveRate).UnixNano()))
			}
		}
		return []result{{name, "rate=" + strconv.Itoa(serveRate), len(late), lateness(late)}}, nil
	})
}

// measureMemory measures the memory of the processes, where that is known.
func (r *serveRig) measureMemory() {
	turns(r.r, 1, r.all, func(_ int, e *entrant[*serveProcess]) (got []result, err error) {
		if _, bytes, ok := processUsage(e.it.cmd.Process.Pid); ok && (e.it == r.ours || r.pending == 0) {
			got = append(got, result{"serve-memory", count(min(r.pending, r.r.n)), 1, []value{{float64(bytes), "B"}}})
		}
		return got, nil
	})
}

// measureSync measures how long a write and a sync take in the folder of the server.
func (r *serveRig) measureSync() error {
	f, err := os.Create(filepath.Join(r.dir, "sync"))
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 4096)
	turns(r.r, r.r.rounds, r.all[1:], func(int, *entrant[*serveProcess]) ([]result, error) {
		var took []float64
		for range 10 {
			began := time.Now()
			_, err := f.Write(block)
			if err := errors.Join(err, f.Sync()); err != nil {
				return nil, err
			}
			took = append(took, float64(time.Since(began)))
		}
		return []result{{"serve-sync", "", len(took), []value{{median(took), "ns"}}}}, nil
	})
	return nil
}
