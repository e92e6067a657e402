package web

import (
	"cmp"
	"context"
	"encoding/csv"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"wardroom/internal/platform/actor"
	"wardroom/internal/platform/fault"
)

// Table is a CSV response, which can have many rows.
type Table struct {
	Name    string   // file name for a download, such as audit.csv
	Columns []string // header row
	// Rows passes each row to the function row. If that function fails, the client has
	// disconnected, and Rows must return its error. If Rows returns any other error, the
	// response ends early.
	Rows func(row func(cells ...string) error) error

	mark bool // begin with a byte order mark
}

// markQuery is the query parameter that all tables have.
const markQuery = "bom"

// byteOrderMark tells a program that a file is UTF-8.
const byteOrderMark = "\ufeff"

// CSV declares a route that returns a table as text/csv (RFC 4180) and sends it row by row. Cells that a spreadsheet
// would run as a formula are prefixed with an apostrophe (https://owasp.org/www-community/attacks/CSV_Injection). If h
// returns an error, the client gets an error response. An error while the table is being sent closes the connection,
// so that the client does not take a partial table for a complete one.
func CSV[I any](
	a *API, path string, p actor.Permission, summary string, h func(context.Context, *I) (*Table, error), opts ...Option,
) {
	marked := func(ctx context.Context, in *I) (*Table, error) {
		mark, err := strconv.ParseBool(cmp.Or(from(ctx).query.Get(markQuery), "false"))
		if err != nil {
			var bad fault.Fields
			bad.Add("query."+markQuery, "Must be true or false.")
			return nil, bad.Err()
		}
		table, err := h(ctx, in)
		if err == nil {
			table.mark = mark
		}
		return table, err
	}
	registerText(a, path, p, summary, "text/csv", marked, func(ctx context.Context, hc huma.Context, table *Table) {
		hc.SetHeader("Content-Type", "text/csv; charset=utf-8; header=present")
		hc.SetHeader("Content-Disposition", `attachment; filename="`+table.Name+`"`)
		hc.SetStatus(http.StatusOK)
		if x := from(ctx); x.r.Method != http.MethodHead {
			x.table(hc.BodyWriter(), table)
		}
	}, opts)
	r := a.routes[len(a.routes)-1]
	r.query[markQuery] = &huma.Param{
		Name: markQuery, In: "query", Schema: &huma.Schema{Type: huma.TypeBoolean},
		Description: "Begin the file with a byte order mark. Without one, Excel reads letters such as é as two wrong ones.",
	}
	r.op.Parameters = append(r.op.Parameters, r.query[markQuery])
}

// table writes the table t as CSV. If that fails, it logs the error, and the client
// sees an incomplete response.
func (x *exchange) table(out io.Writer, t *Table) {
	w := csv.NewWriter(out)
	w.UseCRLF = true
	var err error
	if t.mark {
		_, err = io.WriteString(out, byteOrderMark)
	}
	if err == nil {
		err = w.Write(t.Columns)
	}
	if err == nil {
		err = t.Rows(func(cells ...string) error {
			for i, c := range cells {
				cells[i] = escapeFormula(c)
			}
			return w.Write(cells)
		})
	}
	w.Flush()
	if w.Error() != nil || x.r.Context().Err() != nil {
		x.status = statusGone // or the client was too slow
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		x.fail(err)
		panic(http.ErrAbortHandler)
	}
}

// formulaInCell matches the start of a formula in the middle of a cell. Some spreadsheets recognize a formula after a
// semicolon, tab or line break, even with quotes in between.
var formulaInCell = regexp.MustCompile(`([;\t\r\n]"*)([=+\-@＝＋－＠])`)

// escapeFormula inserts an apostrophe before each part of a cell that a spreadsheet could read as a
// formula. It leaves negative numbers unchanged.
func escapeFormula(cell string) string {
	if amount, negative := strings.CutPrefix(cell, "-"); negative && amount != "" &&
		strings.Trim(amount, "0123456789.") == "" {
		return cell
	}
	cell = formulaInCell.ReplaceAllString(cell, "$1'$2")
	// Some spreadsheets ignore blanks before a formula.
	if first := strings.TrimLeft(cell, " \u00a0\u200b\ufeff"); first != "" &&
		strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(first)[0]) {
		return "'" + cell
	}
	return cell
}
