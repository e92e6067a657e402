package app_test

import (
	"net/http"
	"strings"
	"testing"

	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/db"
)

func (c caller) doctor() link.Examination {
	c.house.t.Helper()
	return decode[link.Examination](c.get("/api/v1/agentrt/doctor").want(http.StatusOK))
}

// The doctor must answer while the gateway is offline, be closed to agents, because it
// shows details of the network, and not disturb a working connection.
func TestDoctor(t *testing.T) {
	t.Parallel()
	h := newHouse(t, db.SQLite, nil)
	s := h.start().connected()
	owner := s.login(ownerEmail)
	owner.hire("cto")

	t.Run("says that all is well, and disturbs nothing", func(t *testing.T) {
		made := s.Gateway.Connections()
		h.runtime.Inject([]byte(`{"type":"event","event":"tick","payload":{"ts":1},"seq":1}`), false)
		waitFor(t, "the event", func() bool { return s.Gateway.Status().LastSeenAt != nil })
		found := owner.doctor()
		if !found.Configured || !found.Healthy || found.Failure != nil || len(found.Steps) != len(link.Layers()) {
			t.Errorf("found %+v", found)
		}
		if n := s.Gateway.Connections(); n != made {
			t.Errorf("the service has reconnected")
		}
	})
	t.Run("is for those who may change it", func(*testing.T) {
		s.login("cto@example.com").get("/api/v1/agentrt/doctor").wantProblem(http.StatusForbidden, "forbidden")
		s.anonymous().get("/api/v1/agentrt/doctor").want(http.StatusUnauthorized)
	})
	t.Run("answers while the gateway is away, with the cause and the fix", func(t *testing.T) {
		h2 := newHouse(t, db.SQLite, nil)
		s2 := h2.start().connected()
		o2 := s2.login(ownerEmail)
		h2.runtime.ChangeToken("another token of the gateway")
		waitFor(t, "the refusal", func() bool { return o2.status().State == link.Unauthorized })
		found := o2.doctor()
		if f := found.Failure; found.Healthy || f == nil || f.Layer != link.LayerAuth || !strings.Contains(f.Fix, "AGENTRT_GATEWAY_TOKEN") {
			t.Errorf("found %+v", f)
		}
		if again := o2.doctor(); again.At != found.At {
			t.Errorf("checked again at %v, after %v: a gateway counts wrong tokens", again.At, found.At)
		}
	})
}
