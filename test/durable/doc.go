// Package durable tests that standups and dispatches survive crashes. The built service
// runs as a separate process next to the demo runtime in the test process, and is killed
// at each point of a standup.
//
// The service has no code for these tests. It is stopped from outside: the runtime
// reports each request when it arrives (see demo.Runtime.Watch), and a trap in the
// database holds a transaction at a chosen row.
package durable
