package account

import (
	"context"
	"fmt"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/plaintext"
)

// storedForms are the forms of an account's email and name that are stored for comparing.
type storedForms struct{ id, name, email, nameKey, emailKey string }

// refold replaces the stored forms of emails and names that an earlier version of Wardroom wrote.
// If the emails of two accounts look the same, the one that was created later keeps its old form, so that
// its owner can still log in with the email as before; a warning names both accounts. Names that look
// the same stay until someone changes them.
func (s *Service) refold(ctx context.Context) (warnings []string, err error) {
	changes, warnings, err := outdated(ctx, s.DB)
	if err == nil && len(changes) > 0 {
		err = s.DB.Tx(ctx, func(tx *db.Tx) (err error) {
			if changes, warnings, err = outdated(ctx, tx); err != nil {
				return err
			}
			for _, a := range changes {
				if _, err := tx.Exec(ctx, `UPDATE users SET email_key = ?, name_key = ? WHERE id = ?`, a.emailKey, a.nameKey, a.id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("update the stored forms of emails and names: %w", err)
	}
	return warnings, nil
}

// outdated returns the accounts whose stored forms must change, with their new forms.
func outdated(ctx context.Context, q db.Queryer) (changes []storedForms, warnings []string, err error) {
	rows, err := q.Query(ctx, `SELECT id, name, email, name_key, email_key FROM users ORDER BY created_at, id`)
	all, err := db.All(rows, err, func(r db.Row) (a storedForms, err error) {
		return a, r.Scan(&a.id, &a.name, &a.email, &a.nameKey, &a.emailKey)
	})
	if err != nil {
		return nil, nil, err
	}
	holders := map[string]storedForms{}
	for _, a := range all {
		if a.emailKey == plaintext.Fold(a.email) {
			holders[a.emailKey] = a
		}
	}
	for _, was := range all {
		is := was
		is.nameKey = plaintext.Fold(is.name)
		key := plaintext.Fold(is.email)
		switch holder, held := holders[key]; {
		case !held:
			is.emailKey, holders[key] = key, is
		case holder.id != is.id:
			warnings = append(warnings, fmt.Sprintf("the emails of the accounts of %s (%s) and %s (%s) look the same: change one in Settings, People",
				holder.name, holder.id, is.name, is.id))
		}
		if is != was {
			changes = append(changes, is)
		}
	}
	return changes, warnings, nil
}
