package gateway_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wardroom/internal/gateway"
)

// TestSessionDiff reads changed files and artifacts with the fields that OpenClaw 2026.9.6 sends (its schema of
// sessions.diff and its handler of artifacts.list). What cannot be read is omitted.
func TestSessionDiff(t *testing.T) {
	t.Parallel()
	answer := sessionsRecorded(t).Usage.Response
	long := strings.Repeat("d/", 2000)
	g := replay(t, func(_ int, p *peer) {
		p.greet("boot-1")
		req := p.expect("sessions.diff")
		if got := string(req.Params); got != `{"sessionKey":"agent:cto:main"}` {
			t.Errorf("asked %s", got)
		}
		p.answer(req, with(t, answer, "payload", map[string]any{
			"sessionKey": "agent:cto:main", "additions": 12, "deletions": 3,
			"files": []any{
				map[string]any{"path": "a.go", "status": "modified", "additions": 12, "deletions": 3, "patch": "+x"},
				map[string]any{"path": "logo.png", "status": "added", "additions": 0, "deletions": 0, "binary": true, "untracked": true},
				map[string]any{"path": long, "status": "deleted", "additions": 1.5, "deletions": -1},
				map[string]any{"status": "added"},
				7,
			},
		}))
		req = p.expect("artifacts.list")
		if got := string(req.Params); got != `{"sessionKey":"agent:cto:main","messageRole":"assistant"}` {
			t.Errorf("asked %s", got)
		}
		p.answer(req, with(t, answer, "payload", map[string]any{
			"artifacts": []any{
				map[string]any{"id": "artifact_1", "type": "image", "title": "Chart\u202e", "mimeType": "image/png"},
				map[string]any{"id": "artifact_2", "type": "file"},
				map[string]any{"id": "artifact_3"},
				nil,
			},
		}))
		p.gone()
	}).connected(t)
	files, err := g.SessionDiff(within(t), "agent:cto:main")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 3 && len(files[2].Path) < len(long) {
		files[2].Path = "shortened"
	}
	want := []gateway.FileChange{
		{Path: "a.go", Added: 12, Removed: 3}, {Path: "logo.png", Binary: true}, {Path: "shortened", Added: 1},
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	titles, err := g.Artifacts(within(t), "agent:cto:main")
	if diff := cmp.Diff([]string{"Chart", "file"}, titles); diff != "" || err != nil {
		t.Errorf("artifacts (-want +got):\n%s, %v", diff, err)
	}
}
