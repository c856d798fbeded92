// HOT PATH: running and what it calls run once an event of a stream. No I/O, no clock, no lock, no allocation but for
// the growth of the answer.

package reader

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// grown is what a stream has shown of its mode: what its events repeat of the events before them. A server has one mode
// for all of its streams, so the mode is decided once and every later event is held against it.
type grown struct {
	declared backends.StreamMode // of the endpoint, as preflight found it; empty: not known
	mode     backends.StreamMode // of this stream's ids: declared, or as its events show; empty: not decided
	said     int64               // the count beside the event before; -1: none
	repeats  repetition          // of the text
	last     int                 // length of the text of the event before, which is the tail of the answer's
	longer   int                 // events whose text began with all of the one before, and went on
	evidence int                 // bytes of the texts that these repeated
	bare     int                 // events with text, while its mode is not known
}

// repetition says what the texts of a stream are.
type repetition uint8

const (
	repeatsUnknown repetition = iota
	repeatsAll                // all so far
	repeatsNothing            // what is new
)

// begin forgets what a stream has shown.
func (g *grown) begin(declared backends.StreamMode) {
	*g = grown{declared: declared, mode: declared, said: -1}
	switch declared {
	case backends.StreamCumulative, backends.StreamIncrementalIDs:
		g.repeats = repeatsAll
	case backends.StreamIncremental:
		g.repeats = repeatsNothing
	}
	if g.mode == backends.StreamIncrementalIDs {
		g.mode = backends.StreamIncremental
	}
}

// running adds an event whose ids are either new or all of the answer so far. The count that stands in each event tells
// which (docs/reference/wire-protocols.md#sglang-generate-route): a first event fits both modes, every later one with
// ids fits at most one of them.
func (a *Answer) running(e *Event) int {
	if isAborted(a.finish) { // the last event of an aborted answer repeats what it likes
		return 0
	}
	if !e.HasIDs {
		return a.runningText(e)
	}
	have, n, said := len(a.tokens), len(e.IDs), e.Produced
	if !a.events && have == 0 { // a whole answer: judge compares its ids with the count
		return a.extend(e, 0)
	}
	if n == 0 && (said < 0 || said == int64(have)) {
		a.joinText(e.Text)
		return 0
	}
	g := &a.grown
	fresh := said == int64(have+n) || have == 0 && said < 0
	counted := said >= int64(have) && said <= int64(n) || have == 0 && said < 0 // SGLang may count before it takes the ids
	all := g.mode != backends.StreamIncremental && counted && a.extends(e)
	switch {
	case e.BadID:
		a.valid(e, nil)
		return 0
	case g.mode == backends.StreamCumulative && !all, g.mode == backends.StreamIncremental && !fresh, !all && !fresh:
		a.misfit(e)
		return 0
	case g.mode == "" && !all:
		g.mode = backends.StreamIncremental
	case g.mode == "" && !fresh:
		g.mode, g.repeats = backends.StreamCumulative, repeatsAll
	}
	if g.mode == backends.StreamCumulative {
		return a.extend(e, have)
	}
	return a.extend(e, 0)
}

// extends reports whether an event's ids begin with all those of the answer. What its decoder knows is of the event
// before, which has all of them too where this is asked.
func (a *Answer) extends(e *Event) bool {
	have := len(a.tokens)
	same := min(e.Known, have)
	return len(e.IDs) >= have && (same == have || slices.Equal(a.tokens[same:], e.IDs[same:have]))
}

// extend adds the ids of an event from a position on, and its text.
func (a *Answer) extend(e *Event, from int) int {
	if !a.valid(e, e.IDs[from:]) {
		return 0
	}
	a.tokens = append(a.tokens, e.IDs[from:]...)
	a.joinText(e.Text)
	return len(e.IDs) - from
}

// runningText adds an event without ids.
func (a *Answer) runningText(e *Event) int {
	if e.Produced >= 0 {
		if e.Produced < a.grown.said {
			a.fail(backends.FailTokenCount, fmt.Sprintf("%s fell from %d to %d inside the answer", a.Words.Count, a.grown.said,
				e.Produced))
			return 0
		}
		a.grown.said = e.Produced
	}
	if !e.HasText && e.Produced <= int64(a.timed) {
		return 0
	}
	a.bareIDs, a.early = a.bareIDs || e.HasText, a.early || e.HasText && a.timed == 0
	a.joinText(e.Text)
	if e.Produced < 0 {
		return 1
	}
	return max(0, int(min(e.Produced, 1<<30))-a.timed)
}

// joinText adds the text of an event. While its mode is not known, texts are put one behind another, so that the last
// one is the tail: a text that does not begin with the one before is new.
func (a *Answer) joinText(text []byte) {
	g := &a.grown
	if !a.keepText || len(text) == 0 {
		return
	}
	switch {
	case g.repeats == repeatsAll:
		if g.mode == backends.StreamIncremental && !bytes.HasPrefix(text, a.text) {
			a.fail(backends.FailBadEvent, "the text of an event does not begin with the text before it, in a stream whose "+
				"events repeat all text: "+foreign.Line(string(text), 200))
			return
		}
		a.text = append(a.text[:0], text...)
		return
	case g.repeats == repeatsUnknown && g.bare > 0:
		if before := a.text[len(a.text)-g.last:]; !bytes.HasPrefix(text, before) {
			g.repeats = repeatsNothing
		} else if len(text) > g.last {
			g.longer++
			g.evidence += g.last
		}
	}
	g.bare++
	g.last = len(text)
	a.text = append(a.text, text...)
}

// enough is the number of repeated bytes after which a text is taken for all so far, where only one event repeated
// them.
const enough = 16

// settleText decides at the end what no event contradicted: that the texts repeat all so far, or nothing.
func (a *Answer) settleText() {
	g := &a.grown
	switch {
	case g.repeats != repeatsUnknown || g.bare < 2:
	case g.longer > 1 || g.evidence >= enough:
		g.repeats = repeatsAll
		a.text = append(a.text[:0], a.text[len(a.text)-g.last:]...)
	default:
		a.fail(backends.FailBadEvent, "whether its events repeat their text can not be told: each text begins with the one "+
			"before; let the preflight ask the server (without --no-preflight-query), or show its /server_info through the "+
			"gateway")
	}
}

// shown is the mode that the stream has shown; empty: its events fit several.
func (a *Answer) shown() backends.StreamMode {
	switch g := &a.grown; {
	case a.hasIDs && g.mode != backends.StreamIncremental:
		return g.mode
	case a.hasIDs && !a.keepText, g.repeats == repeatsNothing:
		return backends.StreamIncremental
	case g.repeats == repeatsAll && a.hasIDs:
		return backends.StreamIncrementalIDs
	case g.repeats == repeatsAll:
		return backends.StreamCumulative
	}
	return ""
}

// misfit fails the answer for an event that does not fit the stream's mode or its own count.
func (a *Answer) misfit(e *Event) {
	have, n := len(a.tokens), len(e.IDs)
	if e.Produced < 0 {
		a.fail(backends.FailBadEvent, fmt.Sprintf("an event has %d token ids behind %d others and no %s: whether they are "+
			"new can not be told", n, have, a.Words.Count))
		return
	}
	event := fmt.Sprintf("an event has %d token ids behind %d others, and its %s is %d", n, have, a.Words.Count,
		e.Produced)
	how := "as the events before it showed"
	if a.grown.declared != "" {
		how = "as the server's arguments or the preflight said"
	}
	switch extends := a.extends(e); {
	case a.grown.mode == backends.StreamCumulative && e.Produced == int64(have+n):
		a.fail(backends.FailBadEvent, event+": they are new ones only, and the stream repeats all ids in each event, "+how)
	case a.grown.mode == backends.StreamIncremental && extends && e.Produced == int64(n):
		a.fail(backends.FailBadEvent, event+": they are all so far, and the stream has new ids only in each event, "+how)
	case a.grown.mode != backends.StreamIncremental && e.Produced == int64(n) && !extends:
		a.fail(backends.FailBadEvent, event+": it replaces ids that were sent before")
	default:
		a.fail(backends.FailTokenCount, event+": events are missing, or came twice")
	}
}
