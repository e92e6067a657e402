package account

import (
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/clock"
)

// issuer is the iss claim of Wardroom's tokens.
const issuer = "wardroom"

// claims are the claims in an access token. Wardroom trusts only the subject and the times. It
// reads permissions from the account; the other claims merely inform the client.
type claims struct {
	jwt.RegisteredClaims
	Role    actor.Role `json:"role"`
	AgentID *string    `json:"agent_id"`
	Name    string     `json:"name"`
}

var errNoSecret = errors.New("account: no secret for signing tokens")

// issue returns a token for u with the given ID, and the token's expiry time, which is rounded down
// because tokens contain whole seconds.
func (s *Service) issue(u User, id string) (token string, expires clock.Time, err error) {
	if len(s.Secret) == 0 {
		return "", clock.Time{}, errNoSecret
	}
	now := s.Now()
	end := now.Add(s.TokenLife).Truncate(time.Second)
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Subject: u.ID, ID: id,
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(end),
		},
		Role: u.Role, AgentID: u.AgentID, Name: u.Name,
	}).SignedString(s.Secret)
	return token, clock.At(end), err
}

// verify returns the claims of a token. If the token is invalid, it returns ErrToken. The error gives a reason only
// if the token has expired, because other reasons could help an attacker forge tokens.
func (s *Service) verify(token string) (cachedToken, error) {
	if len(s.Secret) == 0 {
		return cachedToken{}, errNoSecret
	}
	if known, ok := s.tokens.find(token); ok && clock.Holds(known.expires, s.Now(), s.TokenLife) {
		return known, nil
	}
	var c jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(token, &c,
		func(*jwt.Token) (any, error) { return s.Secret, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(s.Now))
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return cachedToken{}, ErrToken.With("The token has expired. Log in again.")
	case err != nil || uuid.Validate(c.Subject) != nil:
		return cachedToken{}, ErrToken.With("Log in again.")
	}
	if c.IssuedAt != nil && c.IssuedAt.After(s.Now().Add(clock.Skew)) { // it would be valid for too long
		return cachedToken{}, ErrToken.With("The token was issued while Wardroom's clock was wrong. Log in again.")
	}
	known := cachedToken{c.Subject, c.ID, c.ExpiresAt.UTC()}
	s.tokens.keep(token, known)
	return known, nil
}
