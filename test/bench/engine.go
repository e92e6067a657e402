package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// engine provides databases on one database engine.
type engine interface {
	name() string
	seed() string                                                                    // address of the database to fill
	keep(ctx context.Context, size int) error                                        // stores a copy of the filled database
	fresh(ctx context.Context, size int, purpose string) (address string, err error) // returns a new copy of the stored one
	processes() ([]int, error)                                                       // database processes besides the client
	about(ctx context.Context) (string, error)
}

// sqliteEngine provides SQLite databases in files.
type sqliteEngine struct{ dir string }

func (e *sqliteEngine) name() string              { return "sqlite" }
func (e *sqliteEngine) seed() string              { return filepath.Join(e.dir, "seed.db") }
func (e *sqliteEngine) processes() ([]int, error) { return nil, nil }
func (e *sqliteEngine) kept(size int) string {
	return filepath.Join(e.dir, fmt.Sprintf("kept-%d.db", size))
}

func (e *sqliteEngine) keep(ctx context.Context, size int) error {
	return e.copy(ctx, e.seed(), e.kept(size))
}

func (e *sqliteEngine) fresh(ctx context.Context, size int, purpose string) (string, error) {
	to := filepath.Join(e.dir, fmt.Sprintf("%s-%d.db", purpose, size))
	return to, e.copy(ctx, e.kept(size), to)
}

// copy writes a complete and compacted copy of a database.
func (e *sqliteEngine) copy(ctx context.Context, from, to string) error {
	d, err := sql.Open("sqlite", "file:"+from)
	if err != nil {
		return err
	}
	defer d.Close()
	_, err = d.ExecContext(ctx, `VACUUM INTO ?`, to)
	return err
}

func (e *sqliteEngine) about(ctx context.Context) (version string, err error) {
	d, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "", err
	}
	defer d.Close()
	err = d.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version)
	return "SQLite " + version + ", WAL, synchronous=FULL", err
}

// postgres provides databases on a PostgreSQL server. It changes the settings of the
// server, so nothing else may use the server.
type postgres struct {
	admin *sql.DB
	base  *url.URL
	main  int // process ID of the server
	made  []string
}

func newPostgres(ctx context.Context, address string) (*postgres, error) {
	base, err := url.Parse(address)
	if err != nil || address == "" {
		return nil, fmt.Errorf("TEST_POSTGRES_URL is not the address of a PostgreSQL server: run `make bench`, which starts one")
	}
	p := &postgres{base: base}
	if p.admin, err = sql.Open("pgx", address); err != nil {
		return nil, err
	}
	// Test clusters disable durability, which would distort the results.
	for _, s := range []string{
		`ALTER SYSTEM SET fsync = on`, `ALTER SYSTEM SET synchronous_commit = on`, `ALTER SYSTEM SET full_page_writes = on`,
		`ALTER SYSTEM SET autovacuum_naptime = '1min'`, `SELECT pg_reload_conf()`, `CREATE DATABASE bench_seed`,
	} {
		if _, err := p.admin.ExecContext(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	p.made = []string{"bench_seed"}
	var file string
	if err := p.admin.QueryRowContext(ctx, `SELECT pg_read_file('postmaster.pid')`).Scan(&file); err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(file, "\n")
	p.main, err = strconv.Atoi(first)
	return p, err
}

func (p *postgres) close() {
	for _, name := range p.made {
		_, _ = p.admin.ExecContext(context.Background(), `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`) // the cluster is deleted anyway
	}
	_ = p.admin.Close()
}

func (p *postgres) name() string { return "postgres" }
func (p *postgres) seed() string { return p.at("bench_seed") }

func (p *postgres) at(name string) string {
	u := *p.base
	u.Path = "/" + name
	return u.String()
}

func (p *postgres) keep(ctx context.Context, size int) error {
	return p.copy(ctx, "bench_seed", fmt.Sprintf("bench_kept_%d", size))
}

func (p *postgres) fresh(ctx context.Context, size int, purpose string) (string, error) {
	to := fmt.Sprintf("bench_%s_%d", purpose, size)
	if err := p.copy(ctx, fmt.Sprintf("bench_kept_%d", size), to); err != nil {
		return "", err
	}
	d, err := sql.Open("pgx", p.at(to))
	if err != nil {
		return "", err
	}
	defer d.Close()
	_, err = d.ExecContext(ctx, `VACUUM ANALYZE`)
	return p.at(to), err
}

// copy creates a database as a copy of another one, which must not be in use.
func (p *postgres) copy(ctx context.Context, from, to string) error {
	p.made = append(p.made, to)
	_, err := p.admin.ExecContext(ctx, `CREATE DATABASE `+to+` TEMPLATE `+from+` STRATEGY file_copy`)
	return err
}

// processes returns the process IDs of the server and its child processes.
func (p *postgres) processes() ([]int, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.main))
	if err != nil {
		return nil, err
	}
	all := []int{p.main}
	for _, file := range tasks {
		list, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for word := range strings.FieldsSeq(string(list)) {
			n, err := strconv.Atoi(word)
			if err != nil {
				return nil, err
			}
			all = append(all, n)
		}
	}
	return all, nil
}

func (p *postgres) about(ctx context.Context) (version string, err error) {
	err = p.admin.QueryRowContext(ctx, `SELECT current_setting('server_version') || ', fsync=' || current_setting('fsync') || ', synchronous_commit=' || current_setting('synchronous_commit')`).Scan(&version)
	return "PostgreSQL " + version, err
}
