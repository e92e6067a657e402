package app_test

import (
	"net/http"
	"testing"

	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/session"
	"wardroom/internal/standup"
	"wardroom/internal/task"
	"wardroom/test/faults"
)

// withAdmin makes the service also request operator.admin.
func withAdmin(r *config.Raw) {
	r.GatewayScopes = "operator.read,operator.write,operator.admin"
}

// A run with operator.admin would offer the agent the gateway's owner tools, and agents
// read untrusted text. No run may start with that scope, even if only that connection is
// up.
func TestNoOwnerTools(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, engine db.Engine) {
		h := newHouse(t, engine, withAdmin)
		s := h.start().connected()
		owner := s.login(ownerEmail)
		owner.hire("coo", "cto", "cpo", "cmo")
		if m := owner.hold(owner.open().ID); m.Status != standup.Completed {
			t.Errorf("the standup is %s: %+v", m.Status, m.Failure)
		}
		key := owner.handed("cto", "Ship it").Key
		owner.dispatch(key)
		owner.becomes(key, task.Ended)
		s.ask("run-1", cto, "What is next?")
		s.answered("run-1")
		sent := decode[session.Sent](owner.post(ctoPath+"/messages", map[string]string{"text": "Go on."}).want(http.StatusAccepted))
		s.answered(sent.RunID)

		asked := h.runtime.Asked("")
		h.runtime.RefuseClients(faults.WithoutAdmin)
		waitFor(t, "the loss of the connection", func() bool { return s.Gateway.Status().ConnectedAt == nil })
		owner.post(ctoPath+"/messages", map[string]string{"text": "Still there?"}).wantProblem(http.StatusServiceUnavailable, "gateway_unreachable")
		key = owner.handed("cto", "Wait for it").Key
		owner.dispatch(key)
		waitFor(t, "the reason why the dispatch waits", func() bool { return owner.task(key).Dispatch.Waiting != nil })
		if n := h.runtime.Asked(""); n != asked {
			t.Errorf("%d runs started over the connection with operator.admin", n-asked)
		}
		h.runtime.RefuseClients(nil)
		owner.becomes(key, task.Ended)
		if runs := h.runtime.OwnerRuns(); len(runs) > 0 || h.runtime.Asked("") <= asked {
			t.Errorf("runs with the owner tools: %v; %d runs started", runs, h.runtime.Asked(""))
		}
	})
}
