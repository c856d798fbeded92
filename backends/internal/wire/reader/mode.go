// HOT PATH: addNew and the functions that it calls run once per event of a stream. No I/O, no clock, no lock, no
// allocation except for the growth of the answer.

package reader

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// modeTracker finds the mode of a stream: what its events repeat of earlier events. A server has one mode for all its
// streams, so the mode is decided once, and every later event has to fit it.
type modeTracker struct {
	declared backends.StreamMode // of the endpoint, as preflight found it; empty: unknown
	mode     backends.StreamMode // of this stream's ids: declared, or as its events show; empty: not decided
	count    int64               // in the previous event; -1: none
	repeats  repetition          // of the text
	last     int                 // length of the previous event's text, which is the end of the answer's text
	longer   int                 // events whose text began with all of the previous one's and continued
	evidence int                 // bytes that these events repeated
	texts    int                 // events with text while its repetition is unknown
}

// repetition is what the text of an event contains.
type repetition uint8

const (
	repeatsUnknown repetition = iota
	repeatsAll                // all text so far
	repeatsNothing            // new text only
)

// begin discards what the previous stream has shown.
func (g *modeTracker) begin(declared backends.StreamMode) {
	*g = modeTracker{declared: declared, mode: declared, count: -1}
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

// addNew adds an event whose ids are either new or all of the answer so far, and returns the number of new tokens. The
// count in each event distinguishes the two (docs/reference/wire-protocols.md#sglang-generate-route): a first event
// fits both modes, every later event with ids fits at most one of them.
func (a *Answer) addNew(e *Event) int {
	if isAborted(a.finish) { // the last event of an aborted answer may repeat anything
		return 0
	}
	if !e.HasIDs {
		return a.addTextOnly(e)
	}
	have, n, count := len(a.tokens), len(e.IDs), e.Produced
	if !a.events && have == 0 { // not a stream: check compares the ids with the count
		return a.extend(e, 0)
	}
	if n == 0 && (count < 0 || count == int64(have)) {
		a.joinText(e.Text)
		return 0
	}
	g := &a.mode
	isNew := count == int64(have+n) || have == 0 && count < 0
	counted := count >= int64(have) && count <= int64(n) || have == 0 && count < 0 // SGLang may count before it adds ids
	isAll := g.mode != backends.StreamIncremental && counted && a.extends(e)
	switch {
	case e.BadID:
		a.valid(e, nil)
		return 0
	case g.mode == backends.StreamCumulative && !isAll, g.mode == backends.StreamIncremental && !isNew, !isAll && !isNew:
		a.failMode(e)
		return 0
	case g.mode == "" && !isAll:
		g.mode = backends.StreamIncremental
	case g.mode == "" && !isNew:
		g.mode, g.repeats = backends.StreamCumulative, repeatsAll
	}
	if g.mode == backends.StreamCumulative {
		return a.extend(e, have)
	}
	return a.extend(e, 0)
}

// extends reports whether an event's ids begin with all those of the answer. The ids that e.Known counts are those of
// the previous event, which are all ids of the answer where this is called.
func (a *Answer) extends(e *Event) bool {
	have := len(a.tokens)
	same := min(e.Known, have)
	return len(e.IDs) >= have && (same == have || slices.Equal(a.tokens[same:], e.IDs[same:have]))
}

// extend adds the ids of an event from a position on, and its text. It returns the number of new tokens.
func (a *Answer) extend(e *Event, from int) int {
	if !a.valid(e, e.IDs[from:]) {
		return 0
	}
	a.tokens = append(a.tokens, e.IDs[from:]...)
	a.joinText(e.Text)
	return len(e.IDs) - from
}

// addTextOnly adds an event without ids.
func (a *Answer) addTextOnly(e *Event) int {
	if e.Produced >= 0 {
		if e.Produced < a.mode.count {
			a.fail(backends.FailTokenCount, fmt.Sprintf("%s fell from %d to %d inside the answer", a.Terms.Count, a.mode.count,
				e.Produced))
			return 0
		}
		a.mode.count = e.Produced
	}
	if !e.HasText && e.Produced <= int64(a.reported) {
		return 0
	}
	a.lacksIDs, a.firstLacks = a.lacksIDs || e.HasText, a.firstLacks || e.HasText && a.reported == 0
	a.joinText(e.Text)
	if e.Produced < 0 {
		return 1
	}
	return max(0, int(min(e.Produced, 1<<30))-a.reported)
}

// joinText adds the text of an event. While it is unknown what events repeat, all texts are appended, so that the
// previous one is the end of the answer's: a text that does not begin with it is new.
func (a *Answer) joinText(text []byte) {
	g := &a.mode
	if !a.keepText || len(text) == 0 {
		return
	}
	switch {
	case g.repeats == repeatsAll:
		if !a.continues(text) {
			a.fail(backends.FailBadEvent, "the text of an event does not begin with the previous text, in a stream whose "+
				"events repeat all text: "+foreign.Line(string(text), 200))
			return
		}
		a.text = append(a.text[:0], text...)
		return
	case g.repeats == repeatsUnknown && g.texts > 0:
		if before := a.text[len(a.text)-g.last:]; !bytes.HasPrefix(text, before) {
			g.repeats = repeatsNothing
		} else if len(text) > g.last {
			g.longer++
			g.evidence += g.last
		}
	}
	g.texts++
	g.last = len(text)
	a.text = append(a.text, text...)
}

// continues reports whether a text that repeats all earlier text begins with it. The last event's text may be shorter,
// because a server cuts off the stop string that it has begun to send
// (docs/reference/wire-protocols.md#sglang-generate-route).
func (a *Answer) continues(text []byte) bool {
	return bytes.HasPrefix(text, a.text) || a.finish != "" && bytes.HasPrefix(a.text, text)
}

// enoughEvidence is the number of repeated bytes that prove that events repeat all text, if only one event repeated
// them.
const enoughEvidence = 16

// settleText decides at the end whether the texts repeat all text so far, if no event contradicted that.
func (a *Answer) settleText() {
	g := &a.mode
	switch {
	case g.repeats != repeatsUnknown || g.texts < 2:
	case g.longer > 1 || g.evidence >= enoughEvidence:
		g.repeats = repeatsAll
		a.text = append(a.text[:0], a.text[len(a.text)-g.last:]...)
	default:
		a.fail(backends.FailBadEvent, "it is unknown whether the events repeat their text, as each text begins with the "+
			"previous one; let the preflight ask the server (without --no-preflight-query), or let the gateway pass "+
			"/server_info")
	}
}

// shownMode returns the mode that the stream has shown; empty: its events fit several modes.
func (a *Answer) shownMode() backends.StreamMode {
	switch g := &a.mode; {
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

// failMode fails the answer for an event that does not fit the stream's mode or its own count.
func (a *Answer) failMode(e *Event) {
	have, n := len(a.tokens), len(e.IDs)
	if e.Produced < 0 {
		a.fail(backends.FailBadEvent, fmt.Sprintf("an event has %d token ids after %d others and no %s: it is unknown "+
			"whether they are new", n, have, a.Terms.Count))
		return
	}
	event := fmt.Sprintf("an event has %d token ids after %d others, and its %s is %d", n, have, a.Terms.Count,
		e.Produced)
	how := "as the previous events showed"
	if a.mode.declared != "" {
		how = "as the server's arguments or the preflight showed"
	}
	switch extends := a.extends(e); {
	case a.mode.mode == backends.StreamCumulative && e.Produced == int64(have+n):
		a.fail(backends.FailBadEvent, event+": it has new ids only, and the stream repeats all ids in each event, "+how)
	case extends && e.Produced == int64(n): // any other stream may do so
		a.fail(backends.FailBadEvent, event+": it repeats all ids, and the stream has only new ids in each event, "+how)
	case a.mode.mode != backends.StreamIncremental && e.Produced == int64(n) && !extends:
		a.fail(backends.FailBadEvent, event+": it replaces ids that were sent before")
	default:
		a.fail(backends.FailTokenCount, event+": events are missing, or came twice")
	}
}
