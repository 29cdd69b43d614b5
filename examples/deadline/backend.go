package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// frame is a request or a reply on the wire. A reply has the ID of its request.
type frame struct{ ID, Value uint64 }

func (f frame) write(w io.Writer) error { return binary.Write(w, binary.BigEndian, f) }

func readFrame(r io.Reader) (f frame, err error) {
	err = binary.Read(r, binary.BigEndian, &f)
	return f, err
}

// backend answers requests with twice their value, each after its own delay.
type backend struct {
	rt *foliot.Runtime
	// replyDelay returns how long the reply to a request takes, and false if there is to be
	// no reply.
	replyDelay func(f frame) (time.Duration, bool)

	answered, lost atomic.Int64
}

// serve answers the requests on conn. It returns when no more can come and the last reply
// is sent. When ctx ends, replies that are not sent yet are dropped.
func (b *backend) serve(ctx context.Context, conn io.ReadWriter) {
	var (
		answers sync.WaitGroup
		writing sync.Mutex
	)
	defer answers.Wait()
	in := bufio.NewReader(conn)
	for {
		f, err := readFrame(in)
		if err != nil {
			return
		}
		delay, ok := b.replyDelay(f)
		if !ok {
			b.lost.Add(1)
			continue
		}
		answers.Go(func() {
			if b.rt.Sleep(ctx, delay) != nil {
				b.lost.Add(1)
				return
			}
			writing.Lock()
			defer writing.Unlock()
			if (frame{f.ID, 2 * f.Value}).write(conn) != nil {
				b.lost.Add(1)
				return
			}
			b.answered.Add(1)
		})
	}
}
