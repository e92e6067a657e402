// Package durable tests that standups and dispatches survive crashes. The built service
// runs as a separate process, and the demo runtime runs in the test process. The tests
// kill the service at each point of a standup.
//
// The service has no code for these tests. To stop it at a chosen point, the tests
// watch the requests that arrive at the runtime (see demo.Runtime.Watch), or set a
// database trigger that blocks the service's transaction at a chosen row.
package durable
