package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/natsserver"
)

// api sends a request to the API of the server.
func api(t *testing.T, nc *nats.Conn, subject string, request any) map[string]any {
	t.Helper()
	var b []byte
	if request != nil {
		var err error
		if b, err = json.Marshal(request); err != nil {
			t.Fatal(err)
		}
	}
	m, err := nc.Request("$JS.API."+subject, b, 10*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	var reply map[string]any
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		t.Fatal(err)
	}
	if reply["error"] != nil {
		t.Fatalf("%s: %v", subject, reply["error"])
	}
	return reply
}

func TestOpenRefusesAStreamThatDoesNotFit(t *testing.T) {
	b := one(t)
	nc := b.connect()
	for field, change := range map[string]func(c *streamConfig){
		"subjects":             func(c *streamConfig) { c.Subjects = []string{c.Name + ".other"} },
		"storage":              func(c *streamConfig) { c.Storage = "memory" },
		"discard":              func(c *streamConfig) { c.Discard = "old" },
		"max_msgs_per_subject": func(c *streamConfig) { c.MaxPerSubject = 2 },
		"max_age":              func(c *streamConfig) { c.MaxAge = time.Hour },
		"allow_direct":         func(c *streamConfig) { c.AllowDirect = false },
		"allow_msg_ttl":        func(c *streamConfig) { c.AllowTTL = false },
		"allow_atomic":         func(c *streamConfig) { c.AllowAtomic = false },
		"no_ack":               func(c *streamConfig) { c.NoAck = true; c.AllowAtomic = false },
		"retention":            func(c *streamConfig) { c.Retention = "interest" },
		"max_msg_size":         func(c *streamConfig) { c.MaxMsgSize = 1000 },
		"persist_mode":         func(c *streamConfig) { c.PersistMode = "async"; c.AllowAtomic = false },
	} {
		t.Run(field, func(t *testing.T) {
			o := b.options(t)
			c := configOf(o.Stream, o, 1)
			change(&c)
			api(t, nc, "STREAM.CREATE."+o.Stream, c)
			s, err := Open(t.Context(), nc, o)
			if err == nil {
				_ = s.Close()
				t.Fatal("Open accepts the stream")
			}
			if !strings.Contains(err.Error(), "stream "+o.Stream) || !strings.Contains(err.Error(), field+" is ") {
				t.Errorf("Open returns %q, which does not name the stream and %s", err, field)
			}
		})
	}
	t.Run("num_replicas", func(t *testing.T) {
		o := b.options(t)
		_ = b.store(t, o).Close()
		o.Replicas = 3
		if _, err := Open(t.Context(), nc, o); err == nil || !strings.Contains(err.Error(), "num_replicas is 1 and must be 3") {
			t.Errorf("Open with another number of replicas returns %v", err)
		}
		o.Replicas = 0
		_ = b.store(t, o).Close()
	})
	t.Run("three replicas on one server", func(t *testing.T) {
		o := b.options(t)
		o.Replicas = 3
		if _, err := Open(t.Context(), nc, o); err == nil || !strings.Contains(err.Error(), "cannot be made") {
			t.Errorf("Open of a stream with three replicas on one server returns %v", err)
		}
	})
}

func TestOpenRefusesBadOptions(t *testing.T) {
	nc := one(t).connect()
	for field, o := range map[string]Options{
		"Stream":     {Stream: "a.b"},
		"Replicas":   {Replicas: -1},
		"Standby":    {Standby: -1},
		"Partitions": {Partitions: 65},
		"Outcomes":   {Outcomes: time.Second},
		"MaxBytes":   {MaxBytes: -1},
	} {
		if _, err := Open(t.Context(), nc, o); !errors.Is(err, durable.ErrInvalid) || !strings.Contains(err.Error(), field) {
			t.Errorf("Open with a bad %s returns %v", field, err)
		}
	}
	if _, err := Open(t.Context(), nil, Options{}); !errors.Is(err, durable.ErrInvalid) {
		t.Errorf("Open without a connection returns %v", err)
	}
}

func TestOldServersAreRefused(t *testing.T) {
	for version, want := range map[string]bool{
		"2.12.0": true, "2.15.2": true, "v2.14.0-RC.1": true, "3.0.0": true,
		"2.11.9": false, "2.9.25": false, "1.4.1": false, "": false, "dev": false,
	} {
		if got := isRecent(version); got != want {
			t.Errorf("version %q is recent: %t, want %t", version, got, want)
		}
	}
}

func TestOpenWithoutJetStreamReturnsAnError(t *testing.T) {
	servers := StartServers(t, 1, natsserver.Options{Config: `accounts: { NOJS: { users: [{user: a, password: a}] }, JS: { jetstream: enabled, users: [{user: b, password: b}] } }`})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := Open(ctx, servers.Connect(t, nats.UserInfo("a", "a")), Options{Stream: "X"}); err == nil || !strings.Contains(err.Error(), "X") {
		t.Errorf("Open in an account without JetStream returns %v", err)
	}
	s, err := Open(ctx, servers.Connect(t, nats.UserInfo("b", "b")), Options{Stream: "X"})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

func TestOpenNamesAPermissionThatIsMissing(t *testing.T) {
	t.Parallel()
	publish := []string{
		"$JS.API.STREAM.INFO.X", "$JS.API.STREAM.CREATE.X", "$JS.API.CONSUMER.CREATE.X.>",
		"$JS.API.DIRECT.GET.X", "$JS.FC.>", "X.t.*", "X.b", "X.h",
	}
	subscribe := []string{"_INBOX.>", "X.h"}
	users := []string{"{user: all, password: x, permissions: " + permissions(publish, subscribe, "") + "}"}
	missing := append([]string(nil), publish...)
	for i, subject := range missing {
		users = append(users, fmt.Sprintf("{user: u%d, password: x, permissions: %s}", i, permissions(publish, subscribe, subject)))
	}
	users = append(users, "{user: nosub, password: x, permissions: "+permissions(publish, []string{"_INBOX.>"}, "")+"}")
	servers := StartServers(t, 1, natsserver.Options{Config: "authorization { users: [\n" + strings.Join(users, "\n") + "\n] }"})
	open := func(user string) error {
		nc := servers.Connect(t, nats.UserInfo(user, "x"))
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		s, err := Open(ctx, nc, Options{Stream: "X", Synced: true})
		if err == nil {
			_ = s.Close()
		}
		return err
	}
	if err := open("u1"); err == nil || !strings.Contains(err.Error(), "STREAM.CREATE.X") {
		t.Errorf("Open without the permission to make the stream returns %v", err)
	}
	if err := open("all"); err != nil {
		t.Fatalf("Open with all permissions that the package comment lists returns %v", err)
	}
	for i, subject := range missing {
		switch subject {
		case "$JS.API.STREAM.CREATE.X": // it is there already
			continue
		case "$JS.FC.>", "$JS.API.DIRECT.GET.X": // Open may not need them
			continue
		}
		name := strings.TrimRight(strings.TrimPrefix(subject, "$JS.API."), ".*>")
		if err := open(fmt.Sprintf("u%d", i)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Open without the permission to publish to %s returns %v", subject, err)
		}
	}
	if err := open("nosub"); err == nil || !strings.Contains(err.Error(), "X.h") {
		t.Errorf("Open without the permission to subscribe to X.h returns %v", err)
	}
}

// permissions returns permissions in the configuration of a server, without one of the subjects to publish to.
func permissions(publish, subscribe []string, without string) string {
	quote := func(subjects []string) string {
		var all []string
		for _, s := range subjects {
			if s != without {
				all = append(all, fmt.Sprintf("%q", s))
			}
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return fmt.Sprintf("{publish: {allow: %s}, subscribe: {allow: %s}}", quote(publish), quote(subscribe))
}

func TestAFullStreamRefusesTimersAndFiresThoseThatItHas(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*bed{"one server": one(t), "three servers": three(t)} {
		t.Run(name, func(t *testing.T) {
			o, books := b.options(t), newBook()
			o.MaxBytes = 64 << 10
			begin := time.Now().Add(2 * time.Second)
			n := b.start(t, o, map[string]durable.Handler{"k": func(_ context.Context, f durable.Fire) error {
				books.note("", f)
				if f.Attempt == 1 {
					return errors.New("once more")
				}
				return nil
			}})
			armed := 0
			var full error
			for ; full == nil && armed < 10_000; armed++ {
				_, full = n.s.Schedule(t.Context(), durable.Timer{ID: fmt.Sprint(armed), At: begin, Kind: "k", Payload: make([]byte, 500)})
			}
			armed--
			if full == nil || !strings.Contains(full.Error(), "full") {
				t.Fatalf("Schedule on a full stream returns %v", full)
			}
			if n.s.Stats().Pending != armed {
				t.Errorf("%d timers are pending, %d are acknowledged", n.s.Stats().Pending, armed)
			}
			if ok, err := n.s.Cancel(t.Context(), "0"); !ok || err != nil {
				t.Errorf("Cancel on a full stream returns %t and %v", ok, err)
			}
			if _, ok, err := n.s.Get(t.Context(), "1"); !ok || err != nil {
				t.Errorf("Get on a full stream returns %t and %v", ok, err)
			}
			other := b.store(t, o) // a process can begin then
			_ = other.Close()
			eventually(t, "all timers are handled", func() bool { return n.s.Stats().Pending == 0 })
			if want := 2 * (armed - 1); books.len() != want {
				t.Errorf("there were %d attempts, want %d", books.len(), want)
			}
			if _, err := n.s.Schedule(t.Context(), durable.Timer{ID: "new", At: time.Now().Add(time.Hour), Kind: "k"}); err != nil {
				t.Errorf("Schedule after timers have fired returns %v", err)
			}
		})
	}
}

func TestAStoreGoesOnAfterItsServerWasKilled(t *testing.T) {
	t.Parallel()
	b := own(t, 1, natsserver.Options{Sync: true})
	server := b.servers[0]
	o, books := b.options(t), newBook()
	n := b.start(t, o, map[string]durable.Handler{"k": func(_ context.Context, f durable.Fire) error {
		books.note("", f)
		return nil
	}})
	begin := time.Now().Add(500 * time.Millisecond)
	const timers = 100
	for i := range timers {
		if _, err := n.s.Schedule(t.Context(), durable.Timer{ID: fmt.Sprint(i), At: begin.Add(time.Duration(i) * 10 * time.Millisecond), Kind: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Until(begin.Add(200 * time.Millisecond)))
	must(t, server.Kill())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := n.s.Schedule(ctx, durable.Timer{ID: "unsure", At: begin, Kind: "k"})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "may have happened") {
		t.Errorf("Schedule without a server returns %v", err)
	}
	if _, _, err := n.s.Get(ctx, "1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get without a server returns %v", err)
	}
	if ok, err := n.s.Cancel(ctx, "nothing"); ok || err == nil {
		t.Errorf("Cancel without a server returns %t and %v", ok, err)
	}
	must(t, server.Restart())
	eventually(t, "all timers have an outcome", func() bool {
		_, _, err := n.s.Get(t.Context(), "1")
		return err == nil && n.s.Stats().Pending == 0
	})
	books.mu.Lock()
	defer books.mu.Unlock()
	seen := map[string]bool{}
	for key := range books.calls {
		id, _, _ := strings.Cut(key, "@")
		seen[id] = true
	}
	for i := range timers {
		if !seen[fmt.Sprint(i)] {
			t.Errorf("timer %d was not handled", i)
		}
	}
}

func TestCallsToAServerThatIsStoppedEnd(t *testing.T) {
	b := own(t, 1, natsserver.Options{})
	server := b.servers[0]
	s := b.store(t, b.options(t))
	timer := durable.Timer{ID: "a", At: time.Now().Add(time.Hour), Kind: "k"}
	must(t, server.Freeze())
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := s.Schedule(ctx, []durable.Timer{timer}, durable.Condition{})
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errUnknown) {
		t.Errorf("Schedule on a server that is stopped returns %v", err)
	}
	must(t, server.Thaw())
	// The message was on its way.
	eventually(t, "the timer is there", func() bool {
		_, ok, err := s.Get(t.Context(), "a")
		return ok && err == nil
	})
	if _, err := s.Schedule(t.Context(), []durable.Timer{timer}, durable.Condition{Absent: true}); !errors.Is(err, durable.ErrExists) {
		t.Errorf("Schedule with IfAbsent returns %v", err)
	}
}

func TestRunReturnsAnErrorIfTheStreamIsDeleted(t *testing.T) {
	t.Parallel()
	b := one(t)
	for name, again := range map[string]bool{"deleted": false, "made again": true} {
		t.Run(name, func(t *testing.T) {
			o := b.options(t)
			s := b.store(t, o)
			sched, err := durable.New(s, durable.Options{Logger: o.Logger})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- sched.Run(t.Context()) }()
			nc := b.connect()
			api(t, nc, "STREAM.DELETE."+o.Stream, nil)
			if again {
				api(t, nc, "STREAM.CREATE."+o.Stream, configOf(o.Stream, o, 1))
			}
			select {
			case err := <-done:
				if err == nil || !strings.Contains(err.Error(), o.Stream) || !strings.Contains(err.Error(), "deleted") {
					t.Errorf("Run returns %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("Run does not return")
			}
			if _, err := sched.Schedule(t.Context(), durable.Timer{ID: "a", At: time.Now(), Kind: "k"}); err == nil {
				t.Error("Schedule returns nil though the stream was deleted")
			}
		})
	}
}

func TestAnOlderBackupIsNoticed(t *testing.T) {
	t.Parallel()
	b := own(t, 1, natsserver.Options{Sync: true})
	server := b.servers[0]
	o, books := b.options(t), newBook()
	n := b.start(t, o, map[string]durable.Handler{"k": func(_ context.Context, f durable.Fire) error {
		books.note("", f)
		return nil
	}})
	far := time.Now().Add(time.Hour)
	schedule := func(id string, at time.Time) {
		t.Helper()
		if _, err := n.s.Schedule(t.Context(), durable.Timer{ID: id, At: at, Kind: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	schedule("kept", far)
	schedule("again", far)
	must(t, server.Terminate())
	backup := t.TempDir()
	if err := os.CopyFS(backup, os.DirFS(server.StoreDir())); err != nil {
		t.Fatal(err)
	}
	must(t, server.Restart())
	eventually(t, "the server is back", func() bool {
		_, ok, err := n.s.Get(t.Context(), "kept")
		return ok && err == nil
	})
	for i := range 20 {
		schedule(fmt.Sprint("lost", i), far)
	}
	if ok, err := n.s.Cancel(t.Context(), "again"); !ok || err != nil {
		t.Fatalf("Cancel returns %t and %v", ok, err)
	}
	must(t, server.Kill())
	if err := os.RemoveAll(server.StoreDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(server.StoreDir(), os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	must(t, server.Restart())
	eventually(t, "the store knows what the backup has", func() bool {
		_, ok, err := n.s.Get(t.Context(), "again")
		return ok && err == nil && n.s.Stats().Pending == 2
	})
	if n.store.Stats().Rewinds == 0 {
		t.Error("the store has not noticed that the stream has lost messages")
	}
	if _, ok, err := n.s.Get(t.Context(), "lost1"); ok || err != nil {
		t.Errorf("Get of a timer that the backup does not have returns %t and %v", ok, err)
	}
	schedule("now", time.Now())
	eventually(t, "a new timer is handled", func() bool { return books.len() == 1 })
}

func TestTheLeaderStepsDownInMidRun(t *testing.T) {
	t.Parallel()
	b := three(t)
	o, books := b.options(t), newBook()
	var all []*node
	for i := range 2 {
		all = append(all, b.start(t, o, map[string]durable.Handler{"k": func(_ context.Context, f durable.Fire) error {
			books.note(fmt.Sprint(i), f)
			return nil
		}}))
	}
	const timers = 200
	begin := time.Now().Add(time.Second)
	for i := range timers {
		if _, err := all[0].s.Schedule(t.Context(), durable.Timer{ID: fmt.Sprint(i), At: begin.Add(time.Duration(i) * 10 * time.Millisecond), Kind: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		time.Sleep(500 * time.Millisecond)
		b.servers.StepDown(t, o.Stream)
	}
	eventually(t, "all timers are handled", func() bool { return all[0].s.Stats().Pending == 0 })
	books.mu.Lock()
	defer books.mu.Unlock()
	worst := time.Duration(0)
	for _, d := range books.late {
		worst = max(worst, d)
	}
	for key, n := range books.calls {
		if n != 1 {
			t.Errorf("%s: the handler was called %d times", key, n)
		}
	}
	if len(books.late) != timers {
		t.Errorf("%d timers were handled, want %d", len(books.late), timers)
	}
	t.Logf("handlers were late by at most %v", worst)
}
