// Package realgateway tests the built service with a real agent gateway whose agents
// answer from a script.
//
// All files have the build tag journey, because the tests install 860 MB once and start
// programs. `make journey` runs them.
//
//	Model     a model server with scripted answers
//	Gateway   the agent gateway, with four agents that use that model
//	Proxy     a reverse proxy in front of it that makes its clients appear remote
//	Device    an identity that the gateway's operator can approve
//	Server    the built wardroom binary
//	Client    a client of its HTTP API
//
// Each is started by a function that takes the test, and ends with the test.
package realgateway
