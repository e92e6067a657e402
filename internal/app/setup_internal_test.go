package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The terminal always shows a valid setup token while there is no owner, and nothing
// afterwards.
func TestOfferSetup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		offers := []string{"one", "", "two", "owned"} // "" fails
		var shown []string
		var at []time.Duration
		offerSetup(t.Context(), func(context.Context) (string, time.Time, error) {
			next := offers[0]
			offers = offers[1:]
			switch next {
			case "":
				return "", time.Time{}, errors.New("the database is away")
			case "owned":
				return "", time.Time{}, nil
			}
			return next, time.Now().Add(30 * time.Minute), nil
		}, time.Now, slog.New(slog.DiscardHandler), func(token string, _ time.Time) {
			shown, at = append(shown, token), append(at, time.Since(began))
		})
		if want := []time.Duration{0, 30*time.Minute + retryOffer}; !slices.Equal(shown, []string{"one", "two"}) || !slices.Equal(at, want) {
			t.Errorf("it announced %v at %v, want them at %v", shown, at, want)
		}
		if took := time.Since(began); took != time.Hour+retryOffer {
			t.Errorf("it ended after %v", took)
		}
	})
}

// Stopping must not wait for a token to expire.
func TestOfferSetupStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		offerSetup(ctx, func(context.Context) (string, time.Time, error) {
			return "one", time.Now().Add(30 * time.Minute), nil
		}, time.Now, slog.New(slog.DiscardHandler), func(string, time.Time) {})
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it ended after %v, want a minute", took)
		}
	})
}

// The printed address must be one that a browser can open.
func TestAddressOn(t *testing.T) {
	for given, want := range map[string]string{
		"127.0.0.1:3000": "http://127.0.0.1:3000", "0.0.0.0:3000": "http://127.0.0.1:3000", "[::]:3000": "http://127.0.0.1:3000",
		"192.0.2.7:80": "http://192.0.2.7:80", "[2001:db8::7]:80": "http://[2001:db8::7]:80",
	} {
		if got := addressOn(listener(given)); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

// listener is a net.Listener that has only an address.
type listener string

func (l listener) Addr() net.Addr          { return l }
func (listener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (listener) Close() error              { return nil }
func (listener) Network() string           { return "tcp" }
func (l listener) String() string          { return string(l) }
