package standup

import "testing"

// Pairs that people call the same or different. One that is missed makes an old
// blocker look new, one that is taken for another gives it a wrong age.
func TestLikeness(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		// The same, in other words.
		{"Waiting for the legal review", "Still waiting for the legal review.", true},
		{"waiting for the legal review", "**Legal review** is still pending (3 days now)", true},
		{"No access to the staging database", "Still no access to staging DB", true},
		{"No access to the staging database", "I don't have access to the staging database yet", true},
		{"Waiting on legal to sign off the new terms", "Legal has not signed off the new terms", true},
		{"Waiting on legal to sign off the new terms", "Sign-off of the new terms by Legal is still missing", true},
		{"The staging server is down", "Staging server down since Monday; the disk of db-2 is full and operations was told", true},
		{"CI is red on main", "main CI still red", true},
		{"API keys from Stripe missing", "Missing Stripe API key", true},
		{"Need budget approval for the ad campaign", "Budget for the ad campaign is not approved", true},
		{"The vendor has not delivered the figures for Q3", "Q3 figures from the vendor are not delivered yet", true},
		{"PR #412 needs a review from the CTO", "Waiting for CTO to review PR 412", true},
		{"Design mock-ups for the pricing page are not ready", "pricing page: design mockups not ready", true},
		{"no credentials for the analytics dashboard", "Analytics dashboard credentials still missing, asked ops twice", true},
		{"Rate limit of the mail provider (429) stops the newsletter", "Newsletter stopped by the mail provider's rate limit", true},
		{"Die Freigabe des Budgets fehlt", "Freigabe des Budgets fehlt noch", true},
		{"Нет доступа к тестовому серверу", "До сих пор нет доступа к тестовому серверу", true},
		{"等待法务审核新条款", "仍在等待法务审核新条款", true},
		{"Waiting for 2 days for the GPU quota", "GPU quota: waiting for 3 days", true},

		// Different, however alike they sound.
		{"Waiting for the legal review", "Waiting for the design review", false},
		{"Waiting for access to the staging database", "Waiting for access to the production cluster", false},
		{"PR #412 needs a review from the CTO", "PR #415 needs a review from the CTO", false},
		{"Need budget approval for the ad campaign", "Need legal approval for the press release", false},
		{"CI is red on main", "The staging server is down", false},
		{"API keys from Stripe missing", "API keys from Twilio missing", false},
		{"Waiting for CTO", "Waiting for CPO", false},
		{"no figures for the brief", "no photos for the launch page", false},
		{"Waiting for figures from finance", "Waiting for feedback from finance", false},
		{"Release 2.3 is blocked by failing tests", "Release 2.4 is blocked by failing tests", false},
		{"The printer", "The painter", false},
		{"Staging", "Staging has no API keys and nobody answers", false},
		{"No access to the domain", "No access to the mail account", false},
		{"等待法务审核新条款", "等待设计师交付图片", false},
		{"Нет доступа к тестовому серверу", "Нет ответа от юристов", false},
		{"Waiting", "Blocked", false},
		{"", "Waiting for the legal review", false},
		{"The design of the landing page is not approved", "The copy of the landing page is not approved", false},
		{"Customer A has not answered", "Customer B has not answered", false},
		{"12 tests fail on main", "9 tests fail on main", true},
		{"The migration fails: column owner_id does not exist", "Migration still fails, column owner_id doesn't exist", true},
		{"No answer from Acme about the contract", "Acme has not answered about the contract", true},
		{"Flaky login test blocks the release", "The release is blocked by the flaky login test", true},
		{"Waiting for Step 3", "Waiting for Step 4", false},
		{"Waiting for Anna to approve the plan", "Waiting for Boris to approve the plan", false},
		{"Berlin office has no network", "The Paris office has no network", false},
	} {
		a, b := wordingOf(tt.a), wordingOf(tt.b)
		score, got := a.likeness(b)
		if back, same := b.likeness(a); back != score || same != got {
			t.Errorf("%q and %q: %.2f %v, and %.2f %v the other way", tt.a, tt.b, score, got, back, same)
		}
		if got != tt.same {
			t.Errorf("%.2f: %q and %q, want the same: %v", score, tt.a, tt.b, tt.same)
		}
	}
}

// Whatever agents write, comparing it neither fails nor depends on the order.
func FuzzLikeness(f *testing.F) {
	f.Add("Waiting for the legal review", "still waiting, 3 days")
	f.Add("PR #412", "A")
	f.Add("等待法务审核新条款", "\xff'.'..")
	f.Add("1", "12 12 12")
	f.Fuzz(func(t *testing.T, x, y string) {
		a, b := wordingOf(x), wordingOf(y)
		score, same := a.likeness(b)
		if back, too := b.likeness(a); back != score || too != same || score < 0 || score > 1 {
			t.Errorf("%q and %q: %v %v, and %v %v the other way", x, y, score, same, back, too)
		}
		if score, same := a.likeness(wordingOf(x)); !same && a.plain != "" {
			t.Errorf("%q is like itself by %v only", x, score)
		}
	})
}
