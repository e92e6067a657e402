package web

import (
	"context"
	"encoding/csv"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
)

// Table is an answer of rows that may be many.
type Table struct {
	Name    string   // of the file that a browser makes of it, such as audit.csv
	Columns []string // the first line
	// Rows calls row for each line. It ends with the error of row: the caller
	// has left. Any other breaks the answer off.
	Rows func(row func(cells ...string) error) error
}

// CSV declares a route that reads and answers a table as text/csv (RFC 4180),
// row by row. Cells are the data of others: one that a spreadsheet would take for
// a formula gets an apostrophe in front
// (https://owasp.org/www-community/attacks/CSV_Injection). A failure that is
// known before the first row is answered as a problem, as everywhere; after it
// the connection is cut, so that nobody takes a part for the whole.
func CSV[I any](a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*Table, error), opts ...Option) {
	register(a, http.MethodGet, path, p, summary, func(ctx context.Context, in *I) (*textOutput, error) {
		table, err := h(ctx, in)
		if err != nil {
			return nil, err
		}
		return &textOutput{func(hc huma.Context) {
			hc.SetHeader("Content-Type", "text/csv; charset=utf-8; header=present")
			hc.SetHeader("Content-Disposition", `attachment; filename="`+table.Name+`"`)
			hc.SetStatus(http.StatusOK)
			if x := from(ctx); x.r.Method != http.MethodHead {
				x.table(csv.NewWriter(hc.BodyWriter()), table)
			}
		}}, nil
	}, opts)
	op := a.routes[len(a.routes)-1].op
	op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{"text/csv": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
}

// table writes t. What goes wrong on the way is in the log, and for the caller
// in that the answer has no end.
func (x *exchange) table(w *csv.Writer, t *Table) {
	w.UseCRLF = true
	err := w.Write(t.Columns)
	if err == nil {
		err = t.Rows(func(cells ...string) error {
			for i, c := range cells {
				cells[i] = defuse(c)
			}
			return w.Write(cells)
		})
	}
	w.Flush()
	if w.Error() != nil || x.r.Context().Err() != nil {
		x.status = statusGone // or too slow, which is as well as gone
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		x.fail(err)
		panic(http.ErrAbortHandler)
	}
}

// behind is where spreadsheets in other countries than ours take a cell to begin:
// behind what parts cells there, and a new line in one. A quotation mark after it
// is none of the cell's.
var behind = regexp.MustCompile(`([;\t\r\n]"*)([=+\-@＝＋－＠])`)

// defuse keeps a cell from being taken for a formula. An amount below zero is none.
func defuse(cell string) string {
	if amount, negative := strings.CutPrefix(cell, "-"); negative && amount != "" && strings.Trim(amount, "0123456789.") == "" {
		return cell
	}
	cell = behind.ReplaceAllString(cell, "$1'$2")
	if cell != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(cell)[0]) {
		return "'" + cell
	}
	return cell
}
