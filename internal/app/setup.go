package app

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// SetupOffer is what the terminal is to show while there is no owner.
type SetupOffer struct {
	Address string // of this service, such as http://127.0.0.1:3000, as seen from its machine
	Token   string // makes the first owner; it is for the terminal and never for a log
	Until   time.Time
}

// retryOffer is when an offer is tried again that failed, as a rule because
// the database was away.
const retryOffer = 10 * time.Second

// offerSetup tells announce of a set-up token, and of a fresh one when it ends,
// until there is an owner.
func offerSetup(ctx context.Context, offer func(context.Context) (string, time.Time, error), now func() time.Time, log *slog.Logger, announce func(token string, until time.Time)) {
	for {
		token, until, err := offer(ctx)
		wait := retryOffer
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.WarnContext(ctx, "no set-up token could be made; it is tried again", "err", err)
		case token == "":
			return
		default:
			announce(token, until)
			wait = until.Sub(now())
		}
		over := time.NewTimer(wait)
		select {
		case <-over.C:
		case <-ctx.Done():
			over.Stop()
			return
		}
	}
}

// addressOn is where this service is, for somebody on its machine.
func addressOn(ln net.Listener) string {
	at, err := netip.ParseAddrPort(ln.Addr().String())
	if err == nil && at.Addr().IsUnspecified() {
		// 0.0.0.0 and :: are no addresses to go to.
		return "http://" + netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
	}
	return "http://" + ln.Addr().String()
}
