package lab

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// timeline draws a run: a lane for each client and master, holds as bars, overlaps across
// the lanes of the clients, faults as marks, commands and writes as ticks.
func (r *Run) timeline(title string) template.HTML {
	e := &r.Evidence
	d := &drawing{e: e}
	height := top + len(e.Lanes)*lane + 24
	fmt.Fprintf(&d.b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, left+width+20, height, template.HTMLEscapeString(title))
	d.axis(height)
	for i, name := range e.Lanes {
		fmt.Fprintf(&d.b, `<text class="lane" x="0" y="%d">%s</text><line class="lane" x1="%d" x2="%d" y1="%d" y2="%d"/>`,
			y(i)+4, template.HTMLEscapeString(name), left, left+width, y(i), y(i))
	}
	for _, h := range e.Holds {
		d.bar("hold", d.lane(h.Lane), h, fmt.Sprintf("%s believes that it has the lock, from %s to %s", h.Lane, pretty(h.From), pretty(h.To)))
	}
	for _, o := range e.Overlaps {
		for i, name := range e.Lanes {
			if slices.Contains(strings.Split(o.Lane, " and "), name) {
				d.bar("both", i, o, fmt.Sprintf("%s at once, for %s", o.Lane, pretty(o.To-o.From)))
			}
		}
	}
	culprit := r.Culprit()
	for _, m := range e.Moments {
		d.mark(m, culprit != nil && m == *culprit)
	}
	d.b.WriteString(`</svg>`)
	return template.HTML(d.b.String()) //nolint:gosec // all that is not drawn here is escaped
}

// Sizes of a drawing.
const (
	left  = 90
	width = 880
	top   = 14
	lane  = 34
)

type drawing struct {
	e *Evidence
	b strings.Builder
}

func y(i int) int { return top + i*lane + lane/2 }

func (d *drawing) x(at Millis) float64 {
	return left + width*float64(min(max(at, 0), d.e.End))/math.Max(1, float64(d.e.End))
}

func (d *drawing) lane(name string) int { return slices.Index(d.e.Lanes, name) }

// axis draws about eight times, at round figures.
func (d *drawing) axis(height int) {
	step := math.Pow(10, math.Floor(math.Log10(math.Max(1, float64(d.e.End)/4))))
	for _, m := range []float64{5, 2} {
		if float64(d.e.End)/(step*m) >= 4 {
			step *= m
			break
		}
	}
	for t := Millis(0); t <= d.e.End; t += Millis(step) {
		fmt.Fprintf(&d.b, `<line class="axis" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="axis" x="%.1f" y="%d">%s</text>`,
			d.x(t), d.x(t), top, height-20, d.x(t), height-6, pretty(t))
	}
}

func (d *drawing) bar(class string, i int, s Span, title string) {
	if i < 0 {
		return
	}
	fmt.Fprintf(&d.b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="14" rx="2"><title>%s</title></rect>`,
		class, d.x(s.From), y(i)-7, math.Max(1.5, d.x(s.To)-d.x(s.From)), template.HTMLEscapeString(title))
}

func (d *drawing) mark(m Moment, culprit bool) {
	i, x := d.lane(m.Lane), d.x(m.At)
	if i < 0 {
		return
	}
	title := template.HTMLEscapeString(pretty(m.At) + ": " + m.Lane + " " + m.Text)
	switch m.Kind {
	case Struck:
		fmt.Fprintf(&d.b, `<path class="fault" d="M%.1f %d l-6 -10 h12 z"><title>%s</title></path>`, x, y(i)-1, title)
		anchor := "start"
		if x > left+width*2/3 {
			anchor = "end"
		}
		fmt.Fprintf(&d.b, `<text class="fault" text-anchor="%s" x="%.1f" y="%d">%s</text>`, anchor, x, y(i)+15, template.HTMLEscapeString(m.Text))
	case Command:
		class := "command"
		if culprit {
			class = "culprit"
		}
		fmt.Fprintf(&d.b, `<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"><title>%s</title></line>`, class, x, x, y(i)-8, y(i)+8, title)
	case Written:
		fmt.Fprintf(&d.b, `<circle class="write" cx="%.1f" cy="%d" r="4"><title>%s</title></circle>`, x, y(i), title)
	case Deed:
		fmt.Fprintf(&d.b, `<line class="deed" x1="%.1f" x2="%.1f" y1="%d" y2="%d"><title>%s</title></line>`, x, x, y(i)-11, y(i)-7, title)
	}
}
