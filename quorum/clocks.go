package quorum

import (
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// Offset is how far a master's clock is ahead of the client's. A question takes time,
// so it is known only to lie between two values.
type Offset struct{ Low, High time.Duration }

// NewOffset returns the offset of a master that said, at some time between two readings
// of the client's own clock, that its own time was t since whatever it counts from.
func NewOffset(t time.Duration, sent, received clock.Instant) Offset {
	return Offset{Low: t - time.Duration(received), High: t - time.Duration(sent)}
}

// Width is what is not known of the offset.
func (o Offset) Width() time.Duration { return o.High - o.Low }

// Middle is the best guess.
func (o Offset) Middle() time.Duration { return o.Low + o.Width()/2 }

// Less returns the offset to another clock, which is ahead of the client's by d.
func (o Offset) Less(d time.Duration) Offset { return Offset{o.Low - d, o.High - d} }

// Near reports whether two clocks are provably no more than d apart.
func (o Offset) Near(p Offset, d time.Duration) bool { return o.High-p.Low <= d && p.High-o.Low <= d }

// Sight is what one look at a master's clock tells, by the looks before it.
type Sight uint8

// What a look can tell.
const (
	Strange Sight = iota // the clock was not watched before: others must say whether it is right
	Steady               // it provably ran evenly since it was first trusted
	Blurred              // the look took too long to tell
	Stepped              // it was provably stepped
)

// Watch is what one client knows of one master's clock: its looks of the last span. A
// clock that steps forward and back between two looks is not noticed. It is not safe for
// concurrent use.
type Watch struct {
	span, tolerance time.Duration
	trusted         bool
	first, last     clock.Instant // looks that are of use; 0 before there was one
	parts           [parts + 2]extremes
}

// parts is how many parts the span is remembered in. It touches one more, as it begins amid
// one, and the next one must not take its place before the span is over.
const parts = 16

// NewWatch returns a watch that compares looks over span. What moves by less than
// tolerance may be an even clock.
func NewWatch(span, tolerance time.Duration) *Watch { return &Watch{span: span, tolerance: tolerance} }

// Look takes a look at the clock, which was over at now. step is how far it was provably
// stepped, at least; negative for back.
//
// A clock may have moved by twice the tolerance and be steady: no look can be sure of
// less, and keys have a grace that is as long.
func (w *Watch) Look(o Offset, now clock.Instant) (s Sight, step time.Duration) {
	if w.Lapsed(now) {
		w.Forget()
	}
	e := w.extremes(now)
	switch up, down := o.Low-e.minHigh, e.maxLow-o.High; {
	case w.last == 0:
	case up > w.tolerance:
		s, step = Stepped, up
	case down > w.tolerance:
		s, step = Stepped, -down
	case o.High-e.minLow > 2*w.tolerance || e.maxHigh-o.Low > 2*w.tolerance:
		return Blurred, 0
	case w.trusted || w.Whole(now):
		s, w.trusted = Steady, true
	}
	if o.Width() > w.tolerance {
		return max(s, Blurred), step // it would blur the looks to come
	}
	if w.last == 0 {
		w.first = now
	}
	w.last = now
	w.remember(o, now)
	return s, step
}

// Lapsed reports whether the last look was so long ago that what happened meanwhile is
// anybody's guess.
func (w *Watch) Lapsed(now clock.Instant) bool { return now.Sub(w.last) > w.span }

// Whole reports whether the clock was watched, without a step, for a whole span.
func (w *Watch) Whole(now clock.Instant) bool { return w.first != 0 && now.Sub(w.first) > w.span }

// Trust says that others found the clock to be right when it was last looked at.
func (w *Watch) Trust() { w.trusted = w.last != 0 }

// Forget forgets all looks.
func (w *Watch) Forget() { *w = *NewWatch(w.span, w.tolerance) }

// extremes are those of the looks in one part of the span, or in all of it.
type extremes struct {
	part             int64 // of time, from 1; 0 for none
	minLow, maxLow   time.Duration
	minHigh, maxHigh time.Duration
}

func (e extremes) and(f extremes) extremes {
	return extremes{e.part, min(e.minLow, f.minLow), max(e.maxLow, f.maxLow), min(e.minHigh, f.minHigh), max(e.maxHigh, f.maxHigh)}
}

func (w *Watch) remember(o Offset, now clock.Instant) {
	look := extremes{w.part(now), o.Low, o.Low, o.High, o.High}
	if e := &w.parts[look.part%int64(len(w.parts))]; e.part == look.part {
		*e = e.and(look)
	} else {
		*e = look
	}
}

// extremes returns those of the last span.
func (w *Watch) extremes(now clock.Instant) (all extremes) {
	oldest := w.part(now.Add(-w.span))
	for _, e := range w.parts {
		switch {
		case e.part == 0 || e.part < oldest:
		case all.part == 0:
			all = e
		default:
			all = all.and(e)
		}
	}
	return all
}

func (w *Watch) part(t clock.Instant) int64 { return int64(t)/int64(w.span/parts+1) + 1 }
