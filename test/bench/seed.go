package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"

	"wardroom/internal/account"
	"wardroom/internal/app"
	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/config"
	"wardroom/internal/platform/db"
	"wardroom/internal/standup"
	"wardroom/internal/task"
)

// Values for the benchmark's accounts. The secret only signs tokens for servers whose
// databases are deleted when the program ends.
const (
	password = "a password for measuring"
	secret   = "bench-bench-bench-bench-bench-bench-bench-bench-bench"
	people   = 4 // the service checks this many logins from one address at once
	watchers = 25
)

func email(n int) string        { return fmt.Sprintf("person%d@bench.example", n) }
func watcherEmail(n int) string { return fmt.Sprintf("watcher%d@bench.example", n) }

// meetings is the number of standups in a filled database.
const meetings = 60

// seedAll fills one database up to each of the sizes in turn and stores a copy at
// each size. It calls the services in this process, so rules, indexes and events work
// as in real use. It is fast because it creates many tasks in each transaction.
func seedAll(ctx context.Context, e engine, sizes []int, out io.Writer) error {
	began := time.Now()
	first := began.Add(-meetings * 24 * time.Hour).UTC()
	s := seeder{}
	s.at.Store(&first)
	raw := config.Raw{JWTSecret: secret, BootstrapOwnerEmail: email(0), BootstrapOwnerPassword: password}
	raw.DatabaseURL = config.Secret(e.seed())
	cfg, _, err := raw.Check()
	if err != nil {
		return err
	}
	have := 0
	for _, size := range sizes {
		if err := s.fill(ctx, cfg, have, size); err != nil {
			return err
		}
		if err := e.keep(ctx, size); err != nil {
			return err
		}
		have = size
	}
	fmt.Fprintf(out, "%s: %d tasks, each with its history, in %.1f s, through the services in-process\n", e.name(), have, time.Since(began).Seconds())
	return nil
}

type seeder struct {
	app   *app.App
	at    atomic.Pointer[time.Time] // the current time of the services' clock
	by    context.Context           // a context of the owner
	users []string                  // user IDs
}

func (s *seeder) move(by time.Duration) {
	next := s.at.Load().Add(by)
	s.at.Store(&next)
}

// fill opens the service, creates the tasks numbered have+1 to size, and closes the
// service again, because a database in use cannot be copied. If have is 0, it first
// creates the accounts and the standups.
func (s *seeder) fill(ctx context.Context, cfg config.Config, have, size int) (err error) {
	s.app, err = app.New(ctx, cfg, slog.New(slog.DiscardHandler), app.Options{Now: func() time.Time { return *s.at.Load() }, Cost: bcrypt.MinCost + 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.app.Close()) }()
	if have == 0 {
		if err := s.people(ctx); err != nil {
			return err
		}
		if err := s.meetings(); err != nil {
			return err
		}
	}
	return s.tasks(ctx, have, size)
}

func (s *seeder) people(ctx context.Context) error {
	for n := range people {
		if n > 0 {
			u := account.NewUser{Email: email(n), Password: password, Role: actor.User}
			if _, err := s.app.Accounts.Create(actor.With(ctx, actor.System), u); err != nil {
				return err
			}
		}
		u, err := s.app.Accounts.Get(ctx, email(n))
		if err != nil {
			return err
		}
		s.users = append(s.users, u.ID)
		if n == 0 {
			s.by = actor.With(ctx, actor.Actor{ID: u.ID, Name: u.Name, Role: u.Role})
		}
	}
	for n := range watchers {
		u := account.NewUser{Email: watcherEmail(n), Password: password, Role: actor.User}
		if _, err := s.app.Accounts.Create(actor.With(ctx, actor.System), u); err != nil {
			return err
		}
	}
	return nil
}

// meetings opens one standup per simulated day. The standups are never run, so they
// end without reports.
func (s *seeder) meetings() error {
	for range meetings {
		if _, _, err := s.app.Standups.Open(s.by, standup.New{}); err != nil {
			return err
		}
		s.move(24 * time.Hour)
		if err := s.app.Standups.CloseUnrun(actor.With(s.by, actor.System)); err != nil {
			return err
		}
	}
	return nil
}

// tasks creates the tasks numbered have+1 to size and sets the status of half of them.
func (s *seeder) tasks(ctx context.Context, have, size int) error {
	const batch = 500
	statuses := []task.Status{task.Todo, task.InProgress, task.Review, task.Backlog, task.Done}
	for begin := have; begin < size; begin += batch {
		end := min(begin+batch, size)
		err := s.app.DB.Tx(ctx, func(tx *db.Tx) error {
			for n := begin; n < end; n++ {
				s.move(time.Millisecond)
				if _, err := s.app.Tasks.CreateIn(s.by, tx, s.task(n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		groups := make([][]string, len(statuses))
		for n := begin; n < end; n += 2 {
			g := n / 2 % len(groups)
			groups[g] = append(groups[g], fmt.Sprintf("TASK-%d", n+1))
		}
		for g, keys := range groups {
			if len(keys) == 0 {
				continue
			}
			if _, err := s.app.Tasks.Bulk(s.by, keys, task.Change{Status: &statuses[g]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// task returns the nth task. A task is about 1.5 kB of JSON.
func (s *seeder) task(n int) task.New {
	priorities := []task.Priority{task.Low, task.Medium, task.High, task.Urgent}
	types := []task.Type{task.Plain, task.Bug, task.Feature, task.Improvement, task.Research}
	t := task.New{
		Title: fmt.Sprintf("Look into report %d of the night's import", n), Description: description(n),
		Priority: priorities[n%len(priorities)], Type: types[n%len(types)],
		Tags: []task.Tag{"import", task.Tag(fmt.Sprintf("area-%d", n%7))},
	}
	if n%3 > 0 {
		t.Assignee = &s.users[n%len(s.users)]
	}
	return t
}

func description(n int) string {
	return fmt.Sprintf("## What was seen\n\nRow %d did not arrive. ", n) +
		strings.Repeat("The \"nightly\" run says that it has read everything; the table says otherwise.\n", 8) +
		"\n- [ ] read the log\n- [ ] compare the counts\n"
}
