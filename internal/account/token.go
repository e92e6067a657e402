package account

import (
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
	"wardroom/internal/platform/db"
)

// issuer is who our tokens say they are from.
const issuer = "wardroom"

// claims is what a token says. Only its subject and times are ever believed:
// what the account may do is asked of the account. The rest is for whoever
// holds the token.
type claims struct {
	jwt.RegisteredClaims
	Role    actor.Role `json:"role"`
	AgentID *string    `json:"agent_id"`
	Name    string     `json:"name"`
}

var errNoSecret = errors.New("account: there is no secret to sign tokens with")

// issue makes a token for u and tells when it expires. A token counts in whole
// seconds; it never lives longer than it was meant to.
func (s *Service) issue(u User) (token string, expires clock.Time, err error) {
	if len(s.Secret) == 0 {
		return "", clock.Time{}, errNoSecret
	}
	now := s.Now()
	end := now.Add(s.TokenLife).Truncate(time.Second)
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Subject: u.ID, ID: db.NewID(),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(end),
		},
		Role: u.Role, AgentID: u.AgentID, Name: u.Name,
	}).SignedString(s.Secret)
	return token, clock.At(end), err
}

// subject returns the id of the user that a token was issued to and when it
// expires, or ErrToken. Why a token was refused is not told: it would help
// nobody but a forger, except that it expired, which everyone can read in it.
func (s *Service) subject(token string) (id string, expires time.Time, err error) {
	if len(s.Secret) == 0 {
		return "", time.Time{}, errNoSecret
	}
	if known, ok := s.tokens.find(token); ok && s.Now().Before(known.expires) {
		return known.subject, known.expires, nil
	}
	var c jwt.RegisteredClaims
	_, err = jwt.ParseWithClaims(token, &c,
		func(*jwt.Token) (any, error) { return s.Secret, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(s.Now))
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return "", time.Time{}, ErrToken.With("It has expired. Log in again.")
	case err != nil || uuid.Validate(c.Subject) != nil:
		return "", time.Time{}, ErrToken.With("Log in again.")
	}
	s.tokens.keep(token, signed{c.Subject, c.ExpiresAt.UTC()})
	return c.Subject, c.ExpiresAt.UTC(), nil
}
