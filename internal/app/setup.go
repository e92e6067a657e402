package app

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// SetupOffer holds what the terminal shows so that a user can create the owner
// account.
type SetupOffer struct {
	Address string // URL of Wardroom as seen from its machine, such as http://127.0.0.1:3000
	Page    string // URL at which people open the dashboard: PUBLIC_URL, else Address
	Token   string // creates the owner account; must not be logged
	Until   time.Time
}

// retryOffer is the delay before Wardroom tries again to create a setup token. The
// first attempt usually fails because the database is unavailable.
const retryOffer = 10 * time.Second

// offerSetup calls the function announce with a setup token, and again with a new
// token whenever the previous one expires. It returns when an owner account exists.
func offerSetup(
	ctx context.Context, offer func(context.Context) (string, time.Time, error), now func() time.Time, log *slog.Logger,
	announce func(token string, until time.Time),
) {
	for {
		token, until, err := offer(ctx)
		wait := retryOffer
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.WarnContext(ctx, "could not create a setup token; will retry", "err", err)
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

// addressOn returns the URL at which programs on this machine reach a listener.
func addressOn(ln net.Listener) string {
	at, err := netip.ParseAddrPort(ln.Addr().String())
	if err == nil && at.Addr().IsUnspecified() {
		// 0.0.0.0 and :: are not addresses to connect to.
		return "http://" + netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
	}
	return "http://" + ln.Addr().String()
}
