package lab

import (
	_ "embed"
	"html/template"
	"io"
	"time"
)

//go:embed report.html.tmpl
var pageText string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"class":    func(v Verdict) string { return classes[v] },
	"link":     func(id ID) template.URL { return template.URL("#" + id.String()) }, //nolint:gosec // ours
	"verdicts": Verdicts,

	"when":  func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
	"cell":  func(r *Report, f Fault, d Design) *Cell { return r.Cell(ID{f.ID, d.ID}) },
	"draw":  func(c *Cell, r *Run) template.HTML { return r.timeline("Timeline of " + c.ID().String()) },
	"story": func(e *Evidence) [][3]string { return e.Story(true) },
	"count": func(r *Run, c *Cell) int { return sum(c.Runs, func(o *Run) bool { return o.Verdict == r.Verdict }) },
}).Parse(pageText))

// classes are the verdicts' names in the page's style.
var classes = map[Verdict]string{
	OK: "ok", TwoHolders: "broken", LostUpdate: "broken", Stuck: "stuck",
	Blocked: "blocked", Refused: "safe", Unavailable: "safe", None: "none",
}

func sum(runs []Run, f func(*Run) bool) (n int) {
	for i := range runs {
		if f(&runs[i]) {
			n++
		}
	}
	return n
}

// HTML writes the report as one page, which needs nothing else.
func (r *Report) HTML(w io.Writer) error { return page.Execute(w, r) }
