package backup_test

import (
	"path/filepath"
	"testing"
)

// A database is refused if its schema is newer, or older than any release.
func TestOtherSchemasAreRefused(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ change, version, advice string }{
		"newer":      {`INSERT INTO migrations (version_id, is_applied) VALUES (9001, TRUE)`, "9001", "newer Wardroom"},
		"unreleased": {`UPDATE migrations SET version_id = 45 WHERE version_id > 45`, "45", "unreleased Wardroom"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, address string) {
				write(t, address, x.change)
				_, err := tool().VerifyDatabase(t.Context(), address)
				refused(t, err, x.version, x.advice)
				_, err = tool().Make(t.Context(), address, filepath.Join(t.TempDir(), "x"), false)
				refused(t, err, x.version, x.advice)
			})
		})
	}
}
