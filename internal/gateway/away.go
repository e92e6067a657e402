package gateway

import (
	"errors"
	"slices"
)

// Away reports whether a request failed because the gateway was not there, or
// would not have it at the moment, so that it is to be waited for. A timeout
// counts: find out what became of the request before it is sent again.
func Away(err error) bool {
	return slices.ContainsFunc([]error{ErrUnreachable, ErrTimeout, ErrUnauthorized, ErrUnpaired, ErrUntrusted, ErrBusy},
		func(of error) bool { return errors.Is(err, of) })
}
