// Package durable holds the trials of what a meeting survives: the built
// service runs as a process of its own, beside the demo runtime in ours, and is
// killed at each point of a meeting.
//
// The service has no points at which it could be asked to die. What stops it
// comes from outside: the runtime shows each request in the moment in which it
// arrives (see demo.Runtime.Watch), and a trap in the database lets a
// transaction get as far as a chosen row and no further.
package durable
