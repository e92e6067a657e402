package link

import (
	"errors"
	"slices"
)

// IsUnavailable reports whether a request failed because the gateway was temporarily
// unavailable or did not answer in time. The caller should then wait and retry. After
// a timeout, it must first find out whether the request took effect.
func IsUnavailable(err error) bool {
	return slices.ContainsFunc([]error{ErrUnreachable, ErrTimeout, ErrUnauthorized, ErrUnpaired, ErrUntrusted, ErrBusy},
		func(of error) bool { return errors.Is(err, of) })
}
