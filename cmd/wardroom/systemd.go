package main

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notifySystemd tells systemd that the service is ready as soon as it answers at its address, and that it stops when
// ctx ends. If the unit has a watchdog, notifySystemd asks the service twice in each interval, and tells systemd if
// it answers; otherwise systemd restarts the service. Without systemd, or if the unit's type is not notify, it does
// nothing.
func notifySystemd(ctx context.Context, address string, log *slog.Logger) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	notify := func(state string) {
		if _, err := daemon.SdNotify(false, state); err != nil {
			log.WarnContext(ctx, "could not notify systemd", "state", state, "err", err)
		}
	}
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.WarnContext(ctx, "systemd's watchdog is off", "err", err)
	}
	every := cmp.Or(interval/2, time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for state := daemon.SdNotifyReady; ctx.Err() == nil; {
		// The first request waits until the service serves.
		if answers(ctx, address+"/livez", every) {
			notify(state)
			state = daemon.SdNotifyWatchdog
		}
		if state == daemon.SdNotifyWatchdog && interval == 0 {
			<-ctx.Done()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	notify(daemon.SdNotifyStopping)
}

// answers reports whether the server answers a request with 200 within the time limit.
func answers(ctx context.Context, url string, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := local().Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}
