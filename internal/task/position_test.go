package task

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wardroom/internal/platform/db"
	"wardroom/internal/platform/db/dbtest"
)

// Two cards with the same place, or one on the wrong side of the other, and
// nobody can put the board in order any more.
func TestPositions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		board := []string{firstPosition(1), firstPosition(2), firstPosition(10)}
		made := int64(10)
		for range rapid.IntRange(1, 60).Draw(t, "moves") {
			i := rapid.IntRange(-1, len(board)).Draw(t, "to")
			switch {
			case i < 0:
				board = append([]string{ahead(board[0])}, board...)
			case i == len(board):
				board = append(board, beyond(board[i-1]))
			case i == 0: // somebody makes a task
				made++
				board = append(board, firstPosition(made))
			default:
				board = append(board[:i], append([]string{between(board[i-1], board[i])}, board[i:]...)...)
			}
			for i := 1; i < len(board); i++ {
				if board[i-1] >= board[i] {
					t.Fatalf("%q does not stand before %q", board[i-1], board[i])
				}
				if long := len(board[i]) > placeDigits; !long && board[i][:3] != "000" || long && strings.HasSuffix(board[i], "0") {
					t.Fatalf("%q may be that of a task to come, or equal to another", board[i])
				}
			}
		}
	})
}

func TestPlaceRefuses(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Place{
		"none":           {},
		"two":            {Before: new("TASK-1"), After: new("TASK-2")},
		"another edge":   {At: new("middle")},
		"edge and task":  {At: new("last"), After: new("TASK-2")},
		"all, and wrong": {At: new(""), After: new(""), Before: new("")},
	} {
		made := card(t)
		if got := refused(t, made.apply(Change{Position: &p}, monday, ada)); fmt.Sprint(got) != "[/position]" {
			t.Errorf("%s: refused %v", name, got)
		}
	}
}

// A card goes where it was put, and no other card moves.
func TestPlace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		for i := range 5 {
			makeTask(t, s, fmt.Sprint("Card ", i))
		}
		move := func(key string, to Place) {
			t.Helper()
			if _, err := s.Update(asService(t), key, Change{Position: &to}, nil); err != nil {
				t.Fatal(err)
			}
		}
		hold := func(order string) {
			t.Helper()
			got, err := s.List(asService(t), Filter{}, want(100, "position", ""))
			if err != nil || keys(got.Rows) != order {
				t.Errorf("the board is %s, %v; want %s", keys(got.Rows), err, order)
			}
		}
		hold("1 2 3 4 5")
		move("TASK-5", Place{At: new("first")})
		hold("5 1 2 3 4")
		move("TASK-4", Place{Before: new("TASK-1")})
		hold("5 4 1 2 3")
		move("TASK-5", Place{After: new("task-2")})
		hold("4 1 2 5 3")
		move("TASK-1", Place{At: new("last")})
		hold("4 2 5 3 1")
		makeTask(t, s, "Card 6")
		hold("4 2 5 3 1 6")
		move("TASK-6", Place{Before: new("TASK-4")})
		hold("6 4 2 5 3 1")
		move("TASK-6", Place{After: new("TASK-1")})
		hold("4 2 5 3 1 6")
		before := len(events(t, d))
		move("TASK-6", Place{At: new("last")})
		move("TASK-6", Place{After: new("TASK-1")})
		move("TASK-6", Place{After: new("TASK-6")})
		if n := len(events(t, d)); n != before {
			t.Errorf("moves to where it stands made %d events", n-before)
		}
		if _, err := s.Update(asService(t), "TASK-1", Change{Position: &Place{After: new("TASK-99")}}, nil); err == nil {
			t.Error("it went after a task that is not there")
		}
		// Some hundred moves into the same gap must not make the places long.
		for i := range 300 {
			move([]string{"TASK-4", "TASK-2"}[i%2], Place{Before: new("TASK-5")})
		}
		hold("4 2 5 3 1 6")
		part, err := s.List(asService(t), Filter{}, want(100, "position", ""))
		for _, row := range part.Rows {
			if len(row.Position) > longPlace || err != nil {
				t.Errorf("%s is at %s, %v", row.Key, row.Position, err)
			}
		}
	})
}

// Cards that many people move at once must all get places of their own.
func TestPlaceRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newService(d)
		for range 10 {
			makeTask(t, s, "Card")
		}
		got := race(8, func(i int) error {
			_, err := s.Update(asService(t), fmt.Sprint("TASK-", i+3), Change{Position: &Place{After: new("TASK-1")}}, nil)
			return err
		})
		if got["won"] != 8 {
			t.Errorf("outcomes are %v", got)
		}
		part, err := s.List(asService(t), Filter{}, want(100, "position", ""))
		at := map[string]bool{}
		for _, row := range part.Rows {
			at[row.Position] = true
		}
		if err != nil || len(at) != 10 || part.Rows[0].Key != "TASK-1" || part.Rows[9].Key != "TASK-2" {
			t.Errorf("%d places for %s, %v", len(at), keys(part.Rows), err)
		}
	})
}
