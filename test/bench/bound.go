package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the "pgx" driver
	_ "modernc.org/sqlite"             // registers the "sqlite" driver
)

// row is a task in the reference server's database. It has the fields that the
// service returns.
type row struct {
	ID          string          `json:"id"`
	Number      int64           `json:"number"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Status      string          `json:"status"`
	Priority    string          `json:"priority"`
	Type        string          `json:"type"`
	Tags        json.RawMessage `json:"tags"`
	AssigneeID  *string         `json:"assignee_id"`
	ReporterID  *string         `json:"reporter_id"`
	ProjectID   *string         `json:"project_id"`
	ParentID    *string         `json:"parent_id"`
	DependsOn   string          `json:"depends_on"`
	WaitingOn   int64           `json:"waiting_on"`
	Blocked     *string         `json:"blocked"`
	ClaimBy     *string         `json:"claim"`
	SessionKey  *string         `json:"session_key"`
	Branch      *string         `json:"branch"`
	PRURL       *string         `json:"pr_url"`
	Origin      *string         `json:"origin"`
	DueAt       *time.Time      `json:"due_at"`
	DoneAt      *time.Time      `json:"done_at"`
	ArchivedAt  *time.Time      `json:"archived_at"`
	MovedAt     time.Time       `json:"moved_at"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
	Position    string          `json:"position"`
	Version     int64           `json:"version"`
	Comments    int64           `json:"comment_count"`
}

const rowColumns = `id, number, title, description, status, priority, type, tags, assignee_id, reporter_id, project_id, parent_id,
	depends_on, waiting_on, blocked_reason, claim_by, session_key, branch, pr_url, origin, due_at, done_at, archived_at,
	moved_at, created_at, updated_at, position, version, comment_count`

func (r *row) scan(from interface{ Scan(...any) error }) error {
	var tags string
	err := from.Scan(&r.ID, &r.Number, &r.Title, &r.Description, &r.Status, &r.Priority, &r.Type, &tags, &r.AssigneeID, &r.ReporterID,
		&r.ProjectID, &r.ParentID, &r.DependsOn, &r.WaitingOn, &r.Blocked, &r.ClaimBy, &r.SessionKey, &r.Branch, &r.PRURL, &r.Origin,
		&r.DueAt, &r.DoneAt, &r.ArchivedAt, &r.MovedAt, &r.CreatedAt, &r.UpdatedAt, &r.Position, &r.Version, &r.Comments)
	r.Tags = json.RawMessage(tags)
	return err
}

// bound is the benchmark's reference server. Its responses are the same as Wardroom's, but it
// has no accounts, checks or event log, and it prepares all statements in advance.
type bound struct {
	write          *sql.DB
	lists          map[string]*sql.Stmt // by the number of tasks they return
	one            *sql.Stmt
	number, insert *sql.Stmt
	buffers        sync.Pool
}

// serveBound runs the reference server at the given address until ctx ends. Its database, from, is
// the path of an SQLite file or a PostgreSQL URL.
func serveBound(ctx context.Context, from, address string) error {
	b := &bound{buffers: sync.Pool{New: func() any { return new([]byte) }}}
	read, err := b.open(from)
	if err != nil {
		return err
	}
	if err := b.prepare(ctx, read, strings.HasPrefix(from, "postgres")); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, []byte(`{"status":"ok","timestamp":"2026-11-20T08:00:00.000Z","version":"0.1.0"}`))
	})
	mux.HandleFunc("GET /structs", b.handle(b.structs))
	mux.HandleFunc("GET /appended", b.handle(b.appended))
	mux.HandleFunc("GET /tasks/{n}", b.handle(b.byNumber))
	mux.HandleFunc("POST /tasks", b.handle(b.create))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(read.Close(), b.write.Close())
}

// open opens the database with the same options as Wardroom.
func (b *bound) open(from string) (read *sql.DB, err error) {
	if strings.HasPrefix(from, "postgres") {
		if read, err = sql.Open("pgx", from); err == nil {
			read.SetMaxOpenConns(16)
			read.SetMaxIdleConns(16)
			b.write = read
		}
		return read, err
	}
	at := "file:" + (&url.URL{Path: from}).EscapedPath() + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=foreign_keys(1)&_time_integer_format=unix_micro&_inttotime=1"
	if b.write, err = sql.Open("sqlite", at+"&_txlock=immediate"); err != nil {
		return nil, err
	}
	b.write.SetMaxOpenConns(1)
	if read, err = sql.Open("sqlite", at+"&_pragma=query_only(1)"); err == nil {
		read.SetMaxOpenConns(4)
		read.SetMaxIdleConns(4)
	}
	return read, err
}

func (b *bound) prepare(ctx context.Context, read *sql.DB, numbered bool) (err error) {
	prepare := func(on *sql.DB, query string) (s *sql.Stmt) {
		for i := 1; numbered && strings.Contains(query, "?"); i++ {
			query = strings.Replace(query, "?", "$"+strconv.Itoa(i), 1)
		}
		if err == nil {
			s, err = on.PrepareContext(ctx, query)
		}
		return s
	}
	b.lists = map[string]*sql.Stmt{}
	for _, limit := range []string{"50", "100"} {
		b.lists[limit] = prepare(read, `SELECT `+rowColumns+` FROM tasks WHERE archived_at IS NULL ORDER BY number DESC LIMIT `+limit)
	}
	b.one = prepare(read, `SELECT `+rowColumns+` FROM tasks WHERE number = ?`)
	b.number = prepare(b.write, `UPDATE task_counter SET last = last + 1 RETURNING last`)
	b.insert = prepare(b.write, `INSERT INTO tasks (id, number, title, description, status, priority, type, tags, criteria, checks, card, rest, depends_on, waiting_on,
		claim_seq, moved_at, created_at, updated_at, position, version, search, priority_rank, due_rank, urgency)
		VALUES (?, ?, ?, ?, 'todo', 'medium', 'task', '[]', '[]', '[]', '{}', '{}', '', 0, 0, ?, ?, ?, ?, 1, ?, 1, 253402300800000000, 2353402300800000000)`)
	return err
}

func (b *bound) handle(answer func(r *http.Request, to []byte) (int, []byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		buf, _ := b.buffers.Get().(*[]byte)
		defer b.buffers.Put(buf)
		status, body, err := answer(r, (*buf)[:0])
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		*buf = body
		send(w, status, body)
	}
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (b *bound) rows(r *http.Request, each func(*row)) error {
	list := b.lists[r.FormValue("limit")]
	if list == nil {
		return errors.New("there is no such limit")
	}
	rows, err := list.QueryContext(r.Context())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var t row
		if err := t.scan(rows); err != nil {
			return err
		}
		each(&t)
	}
	return rows.Err()
}

func (b *bound) structs(r *http.Request, _ []byte) (int, []byte, error) {
	list := []row{}
	if err := b.rows(r, func(t *row) { list = append(list, *t) }); err != nil {
		return 0, nil, err
	}
	body, err := json.Marshal(list)
	return http.StatusOK, body, err
}

func (b *bound) appended(r *http.Request, to []byte) (int, []byte, error) {
	to = append(to, '[')
	err := b.rows(r, func(t *row) { to = append(t.append(to), ',') })
	if to[len(to)-1] == ',' {
		to = to[:len(to)-1]
	}
	return http.StatusOK, append(to, ']'), err
}

func (b *bound) byNumber(r *http.Request, to []byte) (int, []byte, error) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		return 0, nil, err
	}
	var t row
	if err := t.scan(b.one.QueryRowContext(r.Context(), n)); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, t.append(to), nil
}

func (b *bound) create(r *http.Request, to []byte) (int, []byte, error) {
	var t row
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
		return 0, nil, err
	}
	ctx, now := r.Context(), time.Now().UTC()
	tx, err := b.write.BeginTx(ctx, nil)
	if err != nil {
		return 0, nil, err
	}
	defer tx.Rollback()
	if err := tx.StmtContext(ctx, b.number).QueryRowContext(ctx).Scan(&t.Number); err != nil { //nolint:sqlclosecheck // it ends with the transaction
		return 0, nil, err
	}
	t.ID, t.Position = uuid.Must(uuid.NewV7()).String(), fmt.Sprintf("V%016x", t.Number)
	t.MovedAt, t.CreatedAt, t.UpdatedAt, t.Tags = now, now, now, json.RawMessage(`[]`)
	if _, err := tx.StmtContext(ctx, b.insert).ExecContext(ctx, t.ID, t.Number, t.Title, t.Description, now, now, now, t.Position, strings.ToLower(t.Title)); err != nil { //nolint:sqlclosecheck // likewise
		return 0, nil, err
	}
	if err := tx.Commit(); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, t.append(to), nil
}
