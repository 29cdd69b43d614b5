// Package client is a client of "foliot serve", the server that keeps timers and calls back by a webhook or by server-sent
// events.
//
//	c, err := client.New("http://127.0.0.1:7357", client.Options{})
//	…
//	_, err = c.Put(ctx, client.Timer{ID: "order-17", After: 30 * time.Minute, Webhook: &client.Webhook{URL: "https://shop.example/expire"}})
//
// A Client is safe for concurrent use. It needs only the standard library.
//
// # Errors
//
// An error that the server has sent is a *Problem. Test for its meaning with errors.Is: ErrInvalid, ErrUnauthorized,
// ErrForbidden, ErrNotFound, ErrConflict, ErrTooLarge and ErrUnavailable.
//
// ErrUncertain says that the change may or may not have been made: the request was sent, and its response was lost. An error of
// a change that does not wrap ErrUncertain says that nothing was changed.
//
// # Requests that are repeated
//
// If a connection fails, or the server responds with 429, 502, 503 or 504, the request is repeated as Options.Retry says. A
// request that has not reached the server is always repeated. One that may have reached it is repeated only if this does no
// harm:
//
//   - Get, List and Dead are repeated.
//   - Put is repeated while the timer is not due. Later it may have fired, and the repeated Put would arm it again. A repeated
//     Put with After sends the rest of it, so the timer is due at the same time, however often it is repeated. A timer that was
//     cancelled or replaced by others between the two requests is as Put made it, as if Put had come last.
//   - Put with IfAbsent or IfRev is repeated, too. If the repeated request is refused because the condition does not hold, the
//     first one may have been the reason: the timer that is in the way may be the one that this Put has made. The error then
//     wraps ErrUncertain and not ErrConflict. Get shows which timer there is.
//   - Cancel and Discard are repeated. If the repeated request finds nothing, the first one may have removed it. The error then
//     wraps ErrUncertain and not ErrNotFound, because ErrNotFound of Cancel would say that the timer has fired or was never made.
//   - Batch and Redrive are not repeated.
//
// # Secrets
//
// The token is sent to the server that New names and to no other: redirects are not followed. It is in no error. Over http:// it
// can be read on the way; use https:// if the server is on another machine.
//
// To verify a webhook that the server has sent, use a library of Standard Webhooks
// (https://github.com/standard-webhooks/standard-webhooks). This package has no code for it.
package client
