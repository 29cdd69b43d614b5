// Package jetstream is a store of durable timers on NATS JetStream, for any number of processes.
package jetstream
