// Package realgateway holds the journey: the built service, run as its users
// run it, against a real agent gateway whose agents answer from a script.
//
// Everything in here is behind the build tag journey, because it installs
// 860 MB once and starts programs: `make journey` runs it.
//
//	Model     a model server that answers what the test wants it to
//	Gateway   the agent gateway, with four agents that use that model
//	Proxy     a reverse proxy before it, from which its callers come from elsewhere
//	Device    an identity that the gateway's operator can approve
//	Server    the built wardroom binary
//	Client    a caller of its HTTP API
//
// Each is started by a function that takes the test, and ends with it.
package realgateway
