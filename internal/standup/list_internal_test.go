package standup

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wardroom/internal/platform/clock"
)

// A field that is new, renamed or of another order would be missing in every
// list, or broken, while the document says that it is there.
func TestBriefAppendJSON(t *testing.T) {
	t.Parallel()
	texts := rapid.SampledFrom([]string{"", "plain", "a \"quote\" \\ <b>", "line\nline\t\x01", "漢字 \u2028 🙂", "broken \xff"})
	times := rapid.Custom(func(t *rapid.T) *clock.Time {
		return clock.Ptr(time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "at")).In(time.FixedZone("", 3600)))
	})
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return texts.Draw(t, name) }
		b := Brief{
			ID: text("id"), Team: text("team"), Date: text("date"), Timezone: text("zone"), Title: text("title"), Status: Status(text("status")),
			Phase: Phase(text("phase")), Facilitator: text("facilitator"), Summary: rapid.Ptr(texts, true).Draw(t, "summary"),
			Attempt: rapid.Int().Draw(t, "attempt"), CreatedAt: *times.Draw(t, "created"), Version: rapid.Int64().Draw(t, "version"),
			Reports: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) BriefReport {
				return BriefReport{texts.Draw(t, "agent"), texts.Draw(t, "name"), ReportStatus(texts.Draw(t, "status"))}
			}), 0, 3).Draw(t, "reports"),
		}
		if rapid.Bool().Draw(t, "over") {
			b.StartedAt, b.CompletedAt, b.Failure = times.Draw(t, "started"), times.Draw(t, "completed"), &Failure{text("code"), text("detail")}
		}
		if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
			b.Reports = nil
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(b); err != nil {
			t.Fatal(err)
		}
		if got := append(b.AppendJSON(nil), '\n'); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("appended\n%s\nencoding/json\n%s", got, want.Bytes())
		}
	})
}

// A name is what somebody typed: whatever it is, it must not become another
// report, or take one away.
func TestReadRoll(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]BriefReport{
		"":                                 {},
		"cto answered CTO":                 {{"cto", "CTO", Answered}},
		"cto asked The  T O \ncpo failed ": {{"cto", "The  T O ", Asked}, {"cpo", "", Failed}},
		"cto missing A\nname\ncpo asked P": {{"cto", "A\nname", Missing}, {"cpo", "P", Asked}},
	} {
		if got := readRoll(text); !slices.Equal(got, want) || got == nil {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
