package foliot_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/foliot-go/foliot"
)

var errIdle = errors.New("idle for too long")

// serve handles the requests of a session until it ends or is idle for too long.
func serve(rt *foliot.Runtime, conn net.Conn, timeout time.Duration, handle func([]byte)) error {
	idle, err := rt.NewTimer(func() { conn.Close() })
	if err != nil {
		return err
	}
	defer idle.Free()
	buf := make([]byte, 4096)
	for {
		idle.Reset(timeout) // cheap, however many sessions there are
		n, err := conn.Read(buf)
		if !idle.Stop() { // false: the callback has started
			return errIdle
		}
		if err != nil {
			return err
		}
		handle(buf[:n]) // may take long: the timer is not armed
	}
}

// A server has a timer for each session. The timer is armed while the session waits for
// input, and stopped while a request is handled.
//
// For a socket, SetReadDeadline does the same without a callback. A timer is for sessions that
// have no deadline, such as a stream of a multiplexed connection.
func ExampleTimer_Reset() {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	show := func(request []byte) { fmt.Printf("%s\n", request) }
	ended := make(chan error)

	client, server := net.Pipe()
	go func() { ended <- serve(rt, server, time.Minute, show) }()
	io.WriteString(client, "hello")
	client.Close()
	fmt.Println(<-ended)

	client, server = net.Pipe()
	defer client.Close()
	go func() { ended <- serve(rt, server, time.Millisecond, show) }()
	fmt.Println(<-ended)
	// Output:
	// hello
	// EOF
	// idle for too long
}
