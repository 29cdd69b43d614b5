package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/internal/natsserver"
)

// clusterServers is how many NATS servers the scenarios start, and how many replicas their streams have.
const clusterServers = 3

// A natsCluster is the NATS servers of a scenario. They are processes on this machine.
type natsCluster struct {
	dir     string
	servers []*natsserver.Server
}

// startNATS starts the servers. The error says that the scenario is skipped if there is no program to start.
func startNATS() (*natsCluster, error) {
	binary, err := natsserver.Binary()
	if err != nil {
		return nil, fmt.Errorf("skipped, because there is no NATS server: %w", err)
	}
	c := &natsCluster{}
	if c.dir, err = os.MkdirTemp("", "foliot-bench-"); err != nil {
		return nil, err
	}
	if c.servers, err = natsserver.StartCluster(c.dir, clusterServers, natsserver.Options{Binary: binary}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	return c, nil
}

// close ends the servers and removes their files.
func (c *natsCluster) close() {
	for _, s := range c.servers {
		_ = s.Kill()
	}
	_ = os.RemoveAll(c.dir)
}

// connect returns a connection to the first server. It goes to another one if that ends.
func (c *natsCluster) connect() (*nats.Conn, error) {
	servers := func(o *nats.Options) error {
		for _, s := range c.servers {
			o.Servers = append(o.Servers, s.URL())
		}
		return nil
	}
	return nats.Connect("", servers, nats.DontRandomize(), nats.IgnoreDiscoveredServers(),
		nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.Timeout(10*time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the default one prints
}

// lead makes the first server the leader of a stream. So all contenders send to the leader: otherwise it would be luck
// which of them needs another step for each message.
func (c *natsCluster) lead(nc *nats.Conn, stream string) error {
	wanted := c.servers[0].Name
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		leader, err := c.leader(nc, stream)
		if err != nil || leader == "" {
			continue
		}
		if leader == wanted {
			return nil
		}
		_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, wanted), time.Second)
	}
	return fmt.Errorf("%s does not become the leader of stream %s", wanted, stream)
}

// leader returns the name of the server that leads a stream, or an empty string if there is none now.
func (c *natsCluster) leader(nc *nats.Conn, stream string) (string, error) {
	var info struct {
		Cluster struct{ Leader string }
	}
	err := natsRequest(nc, "$JS.API.STREAM.INFO."+stream, nil, &info)
	return info.Cluster.Leader, err
}

// natsRequest sends a request to the API of JetStream and decodes the reply, unless that is an error.
func natsRequest(nc *nats.Conn, subject string, request, reply any) error {
	var data []byte
	if request != nil {
		var err error
		if data, err = json.Marshal(request); err != nil {
			return err
		}
	}
	m, err := nc.Request(subject, data, 10*time.Second)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	if _, err := parseAck(m.Data); err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	if reply == nil {
		return nil
	}
	return json.Unmarshal(m.Data, reply)
}

// A natsError is the error in a reply of JetStream.
type natsError struct {
	Code        int `json:"err_code"`
	Description string
}

func (e *natsError) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.Code) }

// natsConflict and natsInFlight are codes of errors: the record has changed, or another change of it is not decided yet.
const (
	natsConflict = 10071
	natsInFlight = 10164
)

// parseAck returns the sequence in a reply of JetStream, or the error in it.
func parseAck(data []byte) (seq uint64, err error) {
	var ack struct {
		Seq   uint64
		Error *natsError
	}
	if err := json.Unmarshal(data, &ack); err != nil {
		return 0, err
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	return ack.Seq, nil
}

// makeStream makes a stream with the configuration of Foliot's, and what change changes.
func (c *natsCluster) makeStream(nc *nats.Conn, name string, change func(config map[string]any)) error {
	config := map[string]any{
		"name": name, "subjects": []string{name + ".t.*", name + ".b"}, "retention": "limits", "storage": "file", "discard": "new",
		"num_replicas": clusterServers, "max_msgs_per_subject": 1, "max_msgs": -1, "max_bytes": -1,
		"allow_direct": true, "allow_msg_ttl": true, "allow_atomic": true,
	}
	if change != nil {
		change(config)
	}
	if err := natsRequest(nc, "$JS.API.STREAM.CREATE."+name, config, nil); err != nil {
		return err
	}
	return c.lead(nc, name)
}

// pushConsumer makes a consumer of a stream that pushes messages to receive, without acknowledgements.
func pushConsumer(nc *nats.Conn, stream string, config map[string]any, receive func(*nats.Msg)) (*nats.Subscription, error) {
	inbox := nc.NewInbox()
	sub, err := nc.Subscribe(inbox, func(m *nats.Msg) {
		if m.Reply != "" && len(m.Data) == 0 && m.Header.Get("Status") == "100" {
			_ = nc.Publish(m.Reply, nil) // flow control
			return
		}
		receive(m)
	})
	if err != nil {
		return nil, err
	}
	_ = sub.SetPendingLimits(-1, -1) // flow control bounds it
	all := map[string]any{
		"deliver_subject": inbox, "ack_policy": "none", "max_deliver": 1, "replay_policy": "instant",
		"flow_control": true, "idle_heartbeat": time.Second, "mem_storage": true, "num_replicas": 1,
	}
	for k, v := range config {
		all[k] = v
	}
	request := map[string]any{"stream_name": stream, "config": all}
	if err := natsRequest(nc, "$JS.API.CONSUMER.CREATE."+stream, request, nil); err != nil {
		return nil, errors.Join(err, sub.Unsubscribe())
	}
	return sub, nil
}
