package faults

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
	"wardroom/internal/gateway/demo"
	"wardroom/internal/gateway/link"
	"wardroom/internal/platform/fault"
)

// A run must be stoppable after the connection that started it has closed, because it costs
// money.
func TestClientStopsWhatItBeganBefore(t *testing.T) {
	r := open(t, demo.Options{})
	r.Silence("cto", true)
	before, now := connected(t, r), connected(t, r)
	for _, run := range []string{"run-0", "run-1", "run-2"} {
		ask(t, before, run, "agent:cto:Test")
	}
	if err := before.SendMessage(t.Context(), gateway.OutgoingMessage{SessionKey: "agent:cto:other", Text: "hi", RunID: "said"}); err != nil {
		t.Fatal(err)
	}
	if stopped, err := now.Stop(t.Context(), "agent:cto:Test", "run-1"); err != nil || !stopped {
		t.Errorf("one run: %v, %v", stopped, err)
	}
	if a, err := before.Wait(t.Context(), "run-1", patience); err != nil || a.Outcome != gateway.Stopped {
		t.Errorf("whoever waits is told %+v, %v", a, err)
	}
	ids, _, err := now.StopSession(t.Context(), "agent:cto:Test", "")
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"run-0", "run-2"}, ids); diff != "" || err != nil {
		t.Errorf("the session: %v\n%s", err, diff)
	}
	// If a session has runs of this client, the gateway doesn't mention those of other
	// clients.
	ask(t, before, "theirs", "agent:cto:both")
	ask(t, now, "ours", "agent:cto:both")
	ids, _, err = now.StopSession(t.Context(), "agent:cto:both", "")
	if diff := cmp.Diff([]string{"ours", "theirs"}, ids); diff != "" || err != nil {
		t.Errorf("both: %v\n%s", err, diff)
	}
	if stopped, err := now.Stop(t.Context(), "agent:cto:Test", "run-0"); err != nil || stopped {
		t.Errorf("what has ended: %v, %v", stopped, err)
	}
	// A run that is not in the task ledger can't be stopped this way, and the error says
	// what to do instead.
	_, _, err = now.StopSession(t.Context(), "agent:cto:other", "said")
	if f := fault.Of(err); !errors.Is(err, gateway.ErrForeignRun) || errors.Is(err, link.ErrUnsure) || !strings.Contains(f.Detail, "dashboard") {
		t.Errorf("a message: %v", err)
	}
	r.RemoveMethods("tasks.list")
	ask(t, before, "run-3", "agent:cto:test")
	if _, err := now.Stop(t.Context(), "agent:cto:test", "run-3"); !errors.Is(err, gateway.ErrForeignRun) {
		t.Errorf("without a ledger: %v", err)
	}
	if stopped, err := before.Stop(t.Context(), "agent:cto:test", "run-3"); err != nil || !stopped {
		t.Errorf("its own: %v, %v", stopped, err)
	}
}

func ask(t *testing.T, c *gateway.Client, run, session string) {
	t.Helper()
	if _, err := c.Start(t.Context(), gateway.Question{RunID: run, AgentID: "cto", SessionKey: session, Message: "hi", Limit: time.Minute}); err != nil {
		t.Fatal(err)
	}
}
