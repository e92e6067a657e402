package gateway

import (
	"errors"
	"slices"
)

// IsUnavailable reports whether a request failed because the gateway was temporarily
// unavailable, so that the caller should wait and retry. Timeouts count too. After a
// timeout, the caller must find out whether the request took effect before sending it
// again.
func IsUnavailable(err error) bool {
	return slices.ContainsFunc([]error{ErrUnreachable, ErrTimeout, ErrUnauthorized, ErrUnpaired, ErrUntrusted, ErrBusy},
		func(of error) bool { return errors.Is(err, of) })
}
