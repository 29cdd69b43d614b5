// Package jetstream is a store of durable timers on NATS JetStream, for any number of processes. A timer
// that one process has scheduled is fired by another one if that is the one that runs. Each occurrence is
// fired by one process only.
//
//	nc, err := nats.Connect("nats://a,nats://b,nats://c", nats.MaxReconnects(-1))
//	check(err)
//	store, err := jetstream.Open(ctx, nc, jetstream.Options{Replicas: 3})
//	check(err)
//	defer store.Close()
//	s, err := durable.New(store, durable.Options{})
//	check(err)
//	s.Handle("expire", func(ctx context.Context, f durable.Fire) error { return expire(ctx, f.ID) })
//	check(s.Run(ctx)) // calls handlers until ctx ends
//
// Here check ends the program if its argument is not nil. Everything else is as package durable says.
//
// # What is needed
//
// Servers of version 2.12 or later with JetStream, one or a cluster. [Open] makes the stream if it is
// missing: FOLIOT, or Options.Stream, on Options.Replicas servers. It refuses a stream that does not fit, and
// says what differs. The user of the connection needs these permissions, with the name of the stream in place
// of FOLIOT:
//
//	publish:   FOLIOT.t.*  FOLIOT.b  FOLIOT.h
//	           $JS.API.STREAM.INFO.FOLIOT  $JS.API.STREAM.CREATE.FOLIOT
//	           $JS.API.CONSUMER.CREATE.FOLIOT.>  $JS.API.DIRECT.GET.FOLIOT  $JS.FC.>
//	subscribe: FOLIOT.h  _INBOX.>
//
// The permission to create is not needed if the stream is there. If one is missing, Open returns an error that
// names the subject. With partitions, the same is needed for FOLIOT-1, FOLIOT-2 and so on, but for the
// heartbeats on FOLIOT.h. [Repartition] needs $JS.API.STREAM.UPDATE and $JS.API.STREAM.DELETE, too.
//
// # What is kept
//
// A change is kept when the stream has acknowledged it: by a majority of the replicas. It survives kill -9 of
// all servers. It survives a power cut of all servers only if they sync each message before they acknowledge
// it, which they do not by default:
//
//	jetstream { sync_interval: always }
//
// A client cannot find out how the servers are set, so Open logs a warning until Options.Synced says that it
// was done. A stream whose persist_mode is async is refused.
//
// A stream with a bound (Options.MaxBytes, or one that was set by hand) refuses timers when it is full. It
// never drops one. Schedule leaves a sixteenth of it free, so that the timers that are there can fire.
//
// A server that is started with an older copy of its files has lost what came after. Processes that run
// notice it, log it, count it in [Stats] and read the stream again: timers that were scheduled since then are
// gone, and those that were done since then are armed again. The same holds for a power cut without syncs.
//
// # Several processes
//
// All processes that run a Scheduler share the timers. They send heartbeats, and for each timer they are
// ranked: the first one fires it when it is due, the second one Options.Standby later if the first one has not,
// and so on. So if a process is killed, its timers are late by a Standby. A process fires only kinds that it
// has handlers for, and timers with ByNext only if it has a NextFunc for their kind. It leaves the others to
// processes that can fire them.
//
// The ranking decides nothing. The stream takes one firing and refuses all others. No lock, no lease and no
// clock of a process is needed for that.
//
// The attempts of a process that has ended are repeated by others, when it has been silent for four seconds,
// or at once if it has called [Store.Close]. If the process was only paused or cut off, its handler goes on
// beside the new attempt, and its end is refused: this is the one case in which two attempts of a Key
// overlap.
//
// Timers fire by the clock of the process that handles them. If another process has fired one by a clock that
// is ahead, the handler waits. [Stats] has the skew between this machine and the servers, and one of more
// than 50 ms is logged. Keep the clocks of the machines together.
//
// # Results
//
// Schedule and Cancel wait for one acknowledgement. Callers do not wait for each other. A result that nothing
// was changed, such as false, ErrExists and ErrRev, and what Get and List return, take a barrier as well: a
// message that makes sure that this process has seen everything that was in the stream. Calls at the same
// time share it.
//
// ScheduleBatch arms up to 1000 timers together, all or none, if they are in the same partition. A larger
// batch is divided. If an ID occurs more than once, all have the revision of the last one.
//
// Without a deadline, a call lasts at most ten seconds. If its error says that the change may have happened,
// there was no acknowledgement: look with Get, or call again with the same condition.
//
// # Trouble
//
// A lost connection, servers that elect a leader, a slow server and a full stream end nothing. Run goes on
// by itself, and what could not be decided is tried again. Calls return errors when their time is over. If
// the stream is deleted or the connection is closed, the store stops: Run and all calls return the error.
//
// # Partitions
//
// One stream is led by one server. If that is not enough, Options.Partitions divides the timers among several
// streams, by a hash of the ID. The number is part of the streams: Open refuses another one. [Repartition]
// changes it while no process uses the timers.
//
// # What it costs
//
// Memory has about 200 bytes and the ID for each timer in the streams, in each process, besides what a
// Scheduler needs. Payloads stay in the stream. Open reads the headers of all messages. A firing is two
// messages, as is a timer that is cancelled; its outcome stays in the stream for Options.Outcomes, so that
// processes that are cut off for a while can see it.
package jetstream
