package natstest

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// makeStream makes a stream with one message.
func makeStream(t *testing.T, nc *nats.Conn, replicas int) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"S.>"}, Replicas: replicas}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "S.a", nil); err != nil {
		t.Fatal(err)
	}
	return js
}

// last waits until the server returns the stream, and returns its last sequence.
func last(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		s, err := js.Stream(ctx, "S")
		cancel()
		if err == nil {
			return s.CachedInfo().State.LastSeq
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAServerKeepsItsFolderWhenItIsKilled(t *testing.T) {
	s := Start(t, Options{Sync: true})
	js := makeStream(t, s.Connect(), 1)
	s.Kill()
	if s.Running() {
		t.Error("the server runs after Kill")
	}
	s.Restart()
	if got := last(t, js); got != 1 {
		t.Errorf("after kill -9 and a restart the last sequence is %d, want 1", got)
	}
	s.Terminate()
	s.Restart()
	if got := last(t, js); got != 1 {
		t.Errorf("after an orderly restart the last sequence is %d, want 1", got)
	}
}

func TestAFrozenServerIsSilent(t *testing.T) {
	s := Start(t, Options{})
	nc := s.Connect()
	if err := nc.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	s.Freeze()
	// The threads of the process stop a moment after the signal.
	for end := time.Now().Add(patience); nc.FlushTimeout(200*time.Millisecond) == nil; {
		if time.Now().After(end) {
			t.Fatalf("a frozen server replies after %v", patience)
		}
	}
	if nc.FlushTimeout(200*time.Millisecond) == nil {
		t.Error("a frozen server that was silent replies")
	}
	s.Thaw()
	if err := nc.FlushTimeout(patience); err != nil {
		t.Errorf("after Thaw, Flush returns %v", err)
	}
}

func TestAClusterGoesOnWithoutItsLeader(t *testing.T) {
	c := StartCluster(t, 3, Options{})
	js := makeStream(t, c.Connect(), 3)
	c.StepDown("S")
	leader := c.Leader("S")
	leader.Kill()
	if next := c.Leader("S"); next == leader {
		t.Errorf("%s leads, and it was killed", next.Name)
	}
	if got := last(t, js); got != 1 {
		t.Errorf("the last sequence is %d, want 1", got)
	}
	leader.Restart()
	c.Leader("S")
}
