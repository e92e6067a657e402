//go:build journey

package realgateway

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresEnv is the environment variable with the URL of a PostgreSQL server. The
// user in the URL must be allowed to create databases. `make journey` sets the
// variable.
const postgresEnv = "TEST_POSTGRES_URL"

// PostgresDatabase creates an empty database and returns its URL. The database is dropped when the
// test ends, even if it is in use.
func PostgresDatabase(t testing.TB) string {
	t.Helper()
	server := os.Getenv(postgresEnv)
	address, err := url.Parse(server)
	if server == "" || err != nil {
		t.Fatalf("%s is not set: run `make journey`, which starts PostgreSQL", postgresEnv)
	}
	name := "journey_" + strings.ToLower(rand.Text())
	administer(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { administer(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	address.Path = "/" + name
	return address.String()
}

// administer runs one statement on the server. It also works after the test's context
// has ended.
func administer(t testing.TB, server, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("connect to PostgreSQL: %v", err)
	}
	_, err = conn.Exec(ctx, statement)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}
