// Package webhook sends webhooks: signed POST requests to addresses that are allowed, with a bound for each
// host, so that one bad receiver does not hold up others.
package webhook
