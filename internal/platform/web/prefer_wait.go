package web

import (
	"strconv"
	"strings"
	"time"
)

// Prefer holds the Prefer header. Embed it in the input of a route that starts an operation and can
// wait for its end. Declare that route with the option Waits.
type Prefer struct {
	Prefer string `header:"Prefer" maxLength:"200" doc:"Send wait=N to wait up to N seconds for the operation to finish (RFC 7240)."`
}

// Wait returns how long the client wants to wait, limited to longest. It returns 0 if
// the client does not want to wait. Unknown preferences are ignored, as RFC 7240
// requires.
func (p Prefer) Wait(longest time.Duration) time.Duration {
	for part := range strings.SplitSeq(p.Prefer, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(value), `"`))
		if strings.EqualFold(strings.TrimSpace(name), "wait") && err == nil && n > 0 {
			return min(time.Duration(min(n, 3600))*time.Second, longest)
		}
	}
	return 0
}
