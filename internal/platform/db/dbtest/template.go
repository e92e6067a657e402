package dbtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"wardroom/internal/platform/db"
	"wardroom/internal/schema"
)

// template holds the files of an SQLite database that was closed cleanly. A copy keeps the database
// file's modification time, which matches the time in the lock file. Opening the copy therefore
// needs no integrity check.
type template struct {
	whole, lock []byte
	changed     time.Time
}

// migratedFile returns a template of an SQLite database with all tables and no rows.
var migratedFile = sync.OnceValues(func() (made template, err error) {
	dir, err := os.MkdirTemp("", "wardroom-template-")
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "template.db")
	if err := migrate(path); err != nil {
		return made, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return made, err
	}
	made.changed = info.ModTime()
	if made.whole, err = os.ReadFile(path); err != nil {
		return made, err
	}
	made.lock, err = os.ReadFile(path + ".lock")
	return made, err
})

// write writes a copy of the database to the given path.
func (m template) write(path string) error {
	err := os.WriteFile(path, m.whole, 0o600)
	if err == nil {
		err = os.Chtimes(path, m.changed, m.changed)
	}
	if err == nil {
		err = os.WriteFile(path+".lock", m.lock, 0o600)
	}
	return err
}

// migratedDatabase returns the name of a PostgreSQL database with all tables and no
// rows. CREATE DATABASE copies this database for each test. All test processes share
// it, and it stays on the server. Its name depends on the migrations, so changed
// migrations get a new database.
var migratedDatabase = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	sum, err := sumOfMigrations()
	if err != nil {
		return "", err
	}
	name := "wardroom_template_" + sum
	err = admin(ctx, func(c *pgx.Conn) error {
		// One process creates it while the others wait. The lock ends with the
		// connection.
		if _, err := c.Exec(ctx, `SELECT pg_advisory_lock(hashtextextended($1, 0))`, name); err != nil {
			return err
		}
		var made bool
		if err := c.QueryRow(
			ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name,
		).Scan(&made); err != nil || made {
			return err
		}
		unfinished := name + "_unfinished" // may be left over from a killed process
		for _, query := range []string{`DROP DATABASE IF EXISTS ` + unfinished, `CREATE DATABASE ` + unfinished} {
			if _, err := c.Exec(ctx, query); err != nil {
				return err
			}
		}
		address, err := addressOf(unfinished)
		if err == nil {
			err = migrate(address)
		}
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, `ALTER DATABASE `+unfinished+` RENAME TO `+name)
		return err
	})
	return name, err
})

// sumOfMigrations returns a short hash of the migrations.
func sumOfMigrations() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(schema.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(schema.FS(), path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), err
}

// migrations returns the migrations of the program under test.
func migrations() db.Schema { return db.Schema{Files: schema.FS(), Program: "0.0.0-test"} }

func migrate(address string) (err error) {
	d, err := db.Own(context.Background(), address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	_, err = d.Migrate(context.Background(), migrations())
	return err
}

// Copy copies a PostgreSQL database and returns the copy's connection URL. The original
// must have no open connections. The copy is dropped when the test ends.
func Copy(t testing.TB, template string) string {
	t.Helper()
	// The default strategy writes each page to the log, which takes ten times as long for a small database.
	return create(t, ` TEMPLATE `+template+` STRATEGY file_copy`)
}

// Encoded returns the URL of an empty PostgreSQL database with the given encoding.
func Encoded(t testing.TB, encoding string) string {
	t.Helper()
	need(t, db.Postgres)
	return create(t, ` TEMPLATE template0 LOCALE 'C' ENCODING '`+encoding+`'`)
}

// create creates a PostgreSQL database with the given options, and drops it when the test ends.
func create(t testing.TB, options string) string {
	t.Helper()
	name := "t_" + strings.ReplaceAll(db.NewID(), "-", "")
	exec := func(query string) error {
		return admin(context.Background(), func(c *pgx.Conn) error {
			_, err := c.Exec(context.Background(), query)
			return err
		})
	}
	if err := exec(`CREATE DATABASE ` + name + options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := exec(`DROP DATABASE ` + name + ` WITH (FORCE)`); err != nil {
			t.Error(err)
		}
	})
	address, err := addressOf(name)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// admin runs fn with a connection to the PostgreSQL server that the tests use.
func admin(ctx context.Context, fn func(*pgx.Conn) error) error {
	server := os.Getenv(Env)
	if server == "" {
		return fmt.Errorf("%s is not set: run `test/postgres.sh go test ./...`", Env)
	}
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	return errors.Join(fn(c), c.Close(ctx))
}

func addressOf(database string) (string, error) {
	u, err := url.Parse(os.Getenv(Env))
	if err != nil {
		return "", err
	}
	u.Path = "/" + database
	return u.String(), nil
}
