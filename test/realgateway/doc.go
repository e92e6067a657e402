// Package realgateway tests the built service with a real agent gateway whose agents
// answer from a script.
//
// All files have the build tag journey, because the tests start other programs and the
// first run downloads 860 MB. `make journey` runs the tests.
//
//	Model     a model server with scripted answers
//	Gateway   the agent gateway, with four agents that use that model
//	Proxy     a reverse proxy that makes the gateway's clients appear remote
//	Device    an identity that the gateway's operator can approve
//	Server    the built wardroom binary
//	Client    a client of the server's HTTP API
//
// Each program is started by a function that takes the test, and is stopped when the
// test ends.
package realgateway
